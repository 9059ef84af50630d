#include "model/usage.h"

namespace cay {

void add(UsageReport& report, const UsageQuery& query,
         const std::map<std::string, std::string>& labels, const UsageSum& sum) {
  for (const auto& [key, value] : query.labels) {
    const auto found = labels.find(key);
    if (found == labels.end() || (value && found->second != *value)) return;
  }
  const auto grow = [&](UsageSum& to) {
    to.sandboxes += sum.sandboxes;
    to.totals += sum.totals;
  };
  grow(report.all);
  if (query.group_by.empty()) return;
  const auto of = labels.find(query.group_by);
  grow(report.groups[of == labels.end() ? std::string() : of->second]);
}

}  // namespace cay
