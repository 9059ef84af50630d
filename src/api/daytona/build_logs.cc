#include "api/daytona/lookup.h"
#include "api/daytona/snapshots.h"
#include "core/verbs/builds.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/snapshots.h"

namespace cay::api::daytona {
namespace {

constexpr std::chrono::milliseconds kLogWait{20'000};

// "/daytona/snapshots/{id}/..." or "/daytona/sandbox/{id}/...".
bool is_of_snapshot(const ExchangePtr& exchange) {
  const auto& segments = exchange->head().segments;
  return segments.size() > 1 && segments[1] == "snapshots";
}

// The snapshot whose build the path means.
Task<SnapshotId> built_of(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const Principal& who = exchange->principal();
  if (is_of_snapshot(exchange)) {
    CAY_CO_TRY(const SnapshotInfo found,
               co_await control->cay.snapshots().get(who, ref_of(exchange)));
    co_return found.id;
  }
  if (const auto creation = control->creations.find(who, ref_of(exchange)))
    co_return creation->snapshot;
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  co_return sandbox.snapshot_id;
}

class LogSource final : public ByteSource {
 public:
  LogSource(core::Cay& cay, Principal who, SnapshotId snapshot, bool follow)
      : cay_(cay), who_(std::move(who)), snapshot_(std::move(snapshot)), follow_(follow) {}

  Task<Bytes> next() override {
    for (;;) {
      if (over_) co_return Bytes();
      CAY_CO_TRY(const BuildLog log, co_await cay_.builds().log(who_, snapshot_.get(), offset_,
                                                                follow_ ? kLogWait : Millis{0}));
      offset_ = log.end;
      const bool building = log.state == kSnapshotBuilding;
      if (log.text.empty() && building && follow_) continue;
      over_ = !building || !follow_;
      if (!building && !log.message.empty()) co_return Bytes(log.text + log.message + "\n");
      co_return Bytes(log.text);
    }
  }

 private:
  core::Cay& cay_;
  const Principal who_;
  const SnapshotId snapshot_;
  const bool follow_;
  std::uint64_t offset_ = 0;
  bool over_ = false;
};

}  // namespace

Task<http::Response> build_logs_url(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_CHECK(co_await built_of(control, exchange));
  const std::string kind = is_of_snapshot(exchange) ? "/snapshots/" : "/sandbox/";
  co_return json_answer(
      200, codec::json::object{{"url", codec::text(base_url(exchange->head()) + kind +
                                                   ref_of(exchange) + "/build-logs")}});
}

Task<void> stream_build_logs(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(SnapshotId snapshot, co_await built_of(control, exchange));
  const bool follow = exchange->head().query.get("follow") == "true";
  // Fails here if there is no log, before the answer begins.
  CAY_CO_CHECK(
      co_await control->cay.builds().log(exchange->principal(), snapshot.get(), 0, Millis{0}));
  http::Headers headers;
  headers.add("Content-Type", "text/plain; charset=utf-8");
  headers.add("Cache-Control", "no-store");
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt,
                                    std::make_unique<LogSource>(control->cay, exchange->principal(),
                                                                std::move(snapshot), follow));
  co_return Result<void>();
}

}  // namespace cay::api::daytona
