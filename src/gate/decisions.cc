#include "gate/decisions.h"

#include <iterator>

#include "os/file.h"

namespace cay::gate {
namespace {

constexpr mode_t kFileMode = 0640;  // the daemon's group reads
constexpr std::size_t kMostFile = 1 << 20;

std::string line_of(const wire::DecisionMsg& item) {
  return item.host + '\n' + std::to_string(item.port) + (item.allowed ? "+" : "-") + item.reason;
}

}  // namespace

Decisions::Decisions(int directory, std::string sandbox_id, std::string policy)
    : directory_(directory), file_(std::move(sandbox_id) + ".net"), policy_(std::move(policy)) {
  const auto text = os::read_file(directory_, file_, kMostFile);
  const auto old = text ? wire::decode<wire::DecisionsMsg>(*text) : std::nullopt;
  if (!old) return;
  forgotten_ = old->forgotten;
  for (const wire::DecisionMsg& item : old->items) {
    if (items_.size() >= kMost || by_line_.contains(line_of(item))) continue;
    items_.push_back(item);
    by_line_[line_of(item)] = std::prev(items_.end());
  }
}

Decisions::Line Decisions::note(const What& what, UnixMillis now) {
  wire::DecisionMsg item;
  item.host = what.host.empty() ? what.address : what.host;  // an address without a name is a line of its own
  item.port = what.port;
  item.allowed = what.allowed;
  item.reason = what.reason;
  item.first_at = now;
  const Line line = line_of(item);
  dirty_ = true;
  const auto found = by_line_.find(line);
  if (found != by_line_.end()) {
    items_.splice(items_.end(), items_, found->second);
  } else {
    if (items_.size() >= kMost) {
      by_line_.erase(line_of(items_.front()));
      items_.pop_front();
      ++forgotten_;
    }
    items_.push_back(std::move(item));
    by_line_[line] = std::prev(items_.end());
  }
  wire::DecisionMsg& kept = items_.back();
  kept.address = what.address;
  kept.last_at = now;
  ++kept.count;
  return line;
}

void Decisions::moved(const Line& line, std::uint64_t sent, std::uint64_t received) {
  const auto found = by_line_.find(line);
  if (found == by_line_.end()) return;  // forgotten meanwhile
  found->second->sent_bytes += sent;
  found->second->received_bytes += received;
  dirty_ = true;
}

Result<void> Decisions::write() {
  wire::DecisionsMsg message;
  message.policy = policy_;
  message.forgotten = forgotten_;
  message.items.assign(items_.begin(), items_.end());
  dirty_ = false;
  return os::replace_file(directory_, file_, wire::encode(message), kFileMode);
}

}  // namespace cay::gate
