#include "core/default_image.h"

namespace cay::core {
namespace {

constexpr std::chrono::seconds kBetweenProgress{1};
constexpr std::chrono::seconds kBetweenTries{60};
constexpr const char* kOwnTenant = "default";  // whose snapshots the setting may name

}  // namespace

void DefaultImage::begin() {
  miss("it is looked for");
  jobs_.spawn(job());
}

void DefaultImage::miss(const std::string& why) {
  state_ = why;
  snapshots_.use_default(
      {{},
       Error{Code::kNotReady, "snapshot_not_ready",
             "the default snapshot is the operator's " + name_ + ", which is not here yet: " + why +
                 ". Try again, or name another snapshot",
             0}});
}

Task<void> DefaultImage::job() {
  Principal who;  // the host's
  who.key_name = "settings";
  who.scope = KeyScope::kAdmin;
  while (!stopped_.is_set()) {
    if (const auto here = snapshots_.find(TenantId(kOwnTenant), name_)) {
      failure_.reset();
      state_ = "ready";
      snapshots_.use_default({here->id, std::nullopt});
      co_return Result<void>();
    }
    auto pulling = snapshots_.ensure_image(who, name_, deadline_in(kBetweenProgress));
    const auto got = co_await std::move(pulling);
    if (stopped_.is_set()) break;
    if (got) {
      failure_.reset();
      state_ = "ready";
      snapshots_.use_default({got->id, std::nullopt});
      co_return Result<void>();
    }
    miss(got.error().message);
    if (got.error().reason == "image_not_there_yet") continue;
    failure_ = got.error();
    jobs_.warn("the default snapshot " + name_ + ": " + got.error().message);
    co_await stopped_.wait_for(kBetweenTries);
  }
  co_return Result<void>();
}

Feature DefaultImage::feature() const {
  Feature out;
  out.name = "default snapshot";
  out.ok = !failure_.has_value();
  out.found = name_ + ": " + state_;
  if (!out.ok) {
    out.fallback = "sandboxes that name no snapshot are refused";
    out.remedy = "check the setting images.default, and that its registry or a mirror is reached";
  }
  return out;
}

}  // namespace cay::core
