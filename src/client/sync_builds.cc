#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "client/api.h"
#include "client/context_pack.h"
#include "client/produced.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

constexpr std::uint32_t kLogWait = 20;  // seconds, of one request
constexpr auto kPauseOfRestart = std::chrono::milliseconds(100);

// The fault of the Dockerfile or its files is the caller's.
ErrorCode code_of_build(const std::string& reason) {
  if (reason == "dockerfile_unsupported") return ErrorCode::kUnsupported;
  return reason == "build_failed" || reason == "invalid_dockerfile" ? ErrorCode::kInvalidArgument
                                                                    : ErrorCode::kNotReady;
}

}  // namespace

struct BuildContext::State {
  std::unique_ptr<api::ContextPacker> packer;
};

BuildContext::BuildContext(const std::string& directory, const std::string& ignore)
    : state_(std::make_unique<State>(
          api::value_or_raise(api::ContextPacker::open(directory, ignore)))) {}

BuildContext::~BuildContext() = default;

std::string BuildContext::next() { return api::value_or_raise(state_->packer->next()); }

const CopyReport& BuildContext::report() const { return state_->packer->report(); }

Snapshot SnapshotStore::build(const BuildOptions& options, ByteProducer context) const {
  std::exception_ptr thrown;
  auto source = std::make_unique<api::Produced>(std::move(context), thrown);
  auto got = state_->loop.wait(api::build(state_->connection, options, std::move(source)));
  if (thrown) std::rethrow_exception(thrown);
  return api::value_or_raise(std::move(got));
}

Snapshot SnapshotStore::follow_build(const std::string& id, const OnBuildLog& log) const {
  using Clock = std::chrono::steady_clock;
  const auto patience = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(state_->connection.options().reconnect_for_s));
  auto give_up = Clock::now() + patience;
  BuildLog now{.state = "building"};
  while (now.state == "building" || !now.text.empty()) {
    try {
      now = state_->wait(api::build_log(state_->connection, id, now.end, kLogWait));
      give_up = Clock::now() + patience;
      if (log && !now.text.empty()) log(now.text);
    } catch (const ApiError& error) {
      // A daemon that was started meanwhile has no log, and the snapshot has the end.
      if (error.reason() == "build_not_found") break;
      if (error.code() != ErrorCode::kUnavailable || Clock::now() >= give_up) throw;
      std::this_thread::sleep_for(kPauseOfRestart);
    }
  }
  if (now.state == "building" || now.state == "ready") return wait(id);
  throw ApiError(code_of_build(now.reason), now.reason.empty() ? "snapshot_failed" : now.reason,
                 now.message.empty() ? "the build is " + now.state : now.message);
}

}  // namespace cay::sdk
