#include "core/begun_stops.h"

#include <sstream>

namespace cay::core {
namespace {

constexpr const char* kKey = "stopping";

}  // namespace

Result<std::set<SandboxId>> BegunStops::open() {
  CAY_TRY(const auto stored, store_.get_meta(kKey));
  if (!stored) { CAY_CHECK(store_.put_meta(kKey, "")); }  // from the first start on: a stop adds no row
  std::istringstream words(stored.value_or(""));
  for (std::string id; words >> id;) ids_.insert(SandboxId(id));
  return ids_;
}

Result<void> BegunStops::begin(const SandboxId& id) {
  if (!ids_.insert(id).second) return {};
  return write();
}

Result<void> BegunStops::over(const SandboxId& id) {
  if (ids_.erase(id) == 0) return {};
  return write();
}

Result<void> BegunStops::write() const {
  std::string text;
  for (const SandboxId& id : ids_) text += (text.empty() ? "" : " ") + id.get();
  return store_.put_meta(kKey, text);
}

}  // namespace cay::core
