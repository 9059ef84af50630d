#include "runtime/native/launcher_client.h"

namespace cay::runtime {
namespace {

constexpr int kTries = 4;
constexpr Millis kCreateLimit{60'000};
constexpr Millis kEndLimit{60'000};
constexpr Millis kListLimit{30'000};
constexpr Millis kProbeLimit{60'000};
constexpr Millis kProgressLimit{600'000};  // between two sentences of a snapshot being made
constexpr std::size_t kMostListed = 100'000;

PersistentLink::Config line_config(const LauncherClient::Config& from) {
  PersistentLink::Config config;
  config.peer = "the launcher";
  config.dial = from.dial;
  config.hello = from.hello;
  config.mortal = false;
  config.unreachable = Error{
      Code::kUnavailable, "launcher_unavailable",
      "the launcher does not answer; sandboxes that run go on, but none can be made or ended: " +
          from.start_hint,
      0};
  config.check = [instance = from.instance](const wire::Hello& theirs) -> Result<void> {
    if (theirs.role == "launcher" && (instance.empty() || theirs.instance == instance)) return {};
    return Error{Code::kConflict, "wrong_launcher",
                 "the launcher's socket is held by " + theirs.role + " of instance " +
                     theirs.instance + ", not " + instance +
                     ": end it, and start the launcher of this data directory",
                 0};
  };
  return config;
}

bool lost(const Error& error) {
  return error.code == Code::kUnavailable && error.reason == "link_lost";
}

}  // namespace

LauncherClient::LauncherClient(asio::any_io_executor loop, Config config)
    : line_(PersistentLink::create(std::move(loop), line_config(config))),
      connect_limit_(config.connect_limit) {
  line_->on_event([this](const wire::Frame& frame) {
    if (!is(frame, wire::Type::kDied) || !on_died_) return;
    const auto entry = wire::decode<wire::SandboxEntry>(frame.payload);
    if (entry) on_died_(*entry);
  });
  line_->start();
}

LauncherClient::~LauncherClient() {
  line_->on_event({});
  line_->close(Error{Code::kUnavailable, "launcher_unavailable", "this daemon is ending", 0});
}

Task<void> LauncherClient::converse(wire::Type type, std::string payload, Millis silence,
                                    std::function<Take()> begin) {
  auto line = line_;
  const Millis connect_limit = connect_limit_;
  for (int tries = 1;; ++tries) {
    CAY_CO_TRY(auto link, co_await line->link(connect_limit));
    auto channel = link->open();
    channel->send(type, payload);
    const Take take = begin();
    bool again = false;
    while (!again) {
      const Deadline deadline = after(silence);
      auto frame = co_await channel->next(deadline);
      if (!frame) {
        again = lost(frame.error()) && tries < kTries;
        if (again) break;
        if (lost(frame.error())) {
          co_return Error{Code::kUnavailable, "launcher_unavailable",
                          "the launcher ended again and again: see its log", 0};
        }
        co_return std::move(frame).error();
      }
      auto done = take(*frame);
      if (!done) co_return std::move(done).error();
      if (!*done) continue;
      channel->finish();
      co_return Result<void>{};
    }
  }
}

Task<wire::Created> LauncherClient::create(wire::CreateSandbox request) {
  wire::Created created;
  auto begin = [&created]() -> Take {
    return [&created](const wire::Frame& frame) -> Result<bool> {
      CAY_TRY(created,
              decode_as<wire::Created>(frame, wire::Type::kCreated, "the created sandbox"));
      return true;
    };
  };
  auto payload = wire::encode(request);
  CAY_CO_CHECK(
      co_await converse(wire::Type::kCreate, std::move(payload), kCreateLimit, std::move(begin)));
  co_return created;
}

namespace {
Result<bool> expect_ok(const wire::Frame& frame) {
  if (!is(frame, wire::Type::kOk)) return unexpected_frame(frame, "ok");
  return true;
}
}  // namespace

Task<void> LauncherClient::stop(std::string sandbox_id) {
  auto payload = wire::encode(wire::SandboxRef{.sandbox_id = std::move(sandbox_id)});
  auto begin = []() -> Take { return expect_ok; };
  auto done = co_await converse(wire::Type::kStop, std::move(payload), kEndLimit, std::move(begin));
  co_return done;
}

Task<void> LauncherClient::destroy(std::string sandbox_id) {
  auto payload = wire::encode(wire::SandboxRef{.sandbox_id = std::move(sandbox_id)});
  auto begin = []() -> Take { return expect_ok; };
  auto done =
      co_await converse(wire::Type::kDestroy, std::move(payload), kEndLimit, std::move(begin));
  co_return done;
}

Task<std::vector<wire::SandboxEntry>> LauncherClient::list() {
  std::vector<wire::SandboxEntry> all;
  auto begin = [&all]() -> Take {
    all.clear();
    return [&all](const wire::Frame& frame) -> Result<bool> {
      if (is(frame, wire::Type::kEof)) return true;
      CAY_TRY(auto entry,
              decode_as<wire::SandboxEntry>(frame, wire::Type::kSandboxEntry, "a sandbox"));
      if (all.size() >= kMostListed) return unexpected_frame(frame, "an end to its list");
      all.push_back(std::move(entry));
      return false;
    };
  };
  auto payload = std::string();
  CAY_CO_CHECK(co_await converse(wire::Type::kListSandboxes, std::move(payload), kListLimit,
                                 std::move(begin)));
  co_return std::move(all);
}

Task<wire::SnapshotMsg> LauncherClient::prepare_default(wire::PrepareDefault with,
                                                        std::function<void(std::string)> progress) {
  wire::SnapshotMsg snapshot;
  auto begin = [&snapshot, &progress]() -> Take {
    return [&snapshot, &progress](const wire::Frame& frame) -> Result<bool> {
      if (is(frame, wire::Type::kProgress)) {
        CAY_TRY(auto sentence,
                decode_as<wire::ProgressMsg>(frame, wire::Type::kProgress, "progress"));
        if (progress) progress(std::move(sentence.text));
        return false;
      }
      CAY_TRY(snapshot, decode_as<wire::SnapshotMsg>(frame, wire::Type::kSnapshot, "the snapshot"));
      return true;
    };
  };
  auto payload = wire::encode(with);
  CAY_CO_CHECK(co_await converse(wire::Type::kPrepareDefault, std::move(payload), kProgressLimit,
                                 std::move(begin)));
  co_return snapshot;
}

Task<std::vector<wire::FeatureMsg>> LauncherClient::probe() {
  std::vector<wire::FeatureMsg> all;
  auto begin = [&all]() -> Take {
    all.clear();
    return [&all](const wire::Frame& frame) -> Result<bool> {
      if (is(frame, wire::Type::kEof)) return true;
      CAY_TRY(auto feature, decode_as<wire::FeatureMsg>(frame, wire::Type::kFeature, "a feature"));
      if (all.size() >= kMostListed) return unexpected_frame(frame, "an end to its list");
      all.push_back(std::move(feature));
      return false;
    };
  };
  auto payload = std::string();
  CAY_CO_CHECK(
      co_await converse(wire::Type::kProbe, std::move(payload), kProbeLimit, std::move(begin)));
  co_return std::move(all);
}

}  // namespace cay::runtime
