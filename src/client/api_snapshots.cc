// The verbs on snapshots, and those that make sandboxes and snapshots of a sandbox.
#include "client/api.h"
#include "client/json_read.h"
#include "client/json_write.h"
#include "client/pages.h"

namespace cay::client {
namespace {

constexpr const char* kSnapshots = "/api/v1/snapshots";

std::string snapshot_target(const std::string& ref, std::string_view rest = {}) {
  return std::string(kSnapshots) + "/" + http::encode_segment(ref) + std::string(rest);
}

Task<sdk::Snapshot> snapshot_of(Connection& at, std::string method, std::string target,
                                json::object body = {}) {
  std::string text = body.empty() ? std::string() : codec::write(body);
  auto answer = co_await at.call_json(std::move(method), std::move(target), std::move(text));
  if (!answer) co_return std::move(answer).error();
  co_return snapshot_from(*answer);
}

}  // namespace

Task<std::vector<sdk::Snapshot>> snapshots(Connection& at) {
  auto answer = co_await at.call_json("GET", kSnapshots);
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", snapshot_from);
}

Task<sdk::Snapshot> snapshot(Connection& at, std::string ref) {
  return snapshot_of(at, "GET", snapshot_target(ref));
}

Task<sdk::Snapshot> pull(Connection& at, sdk::PullOptions options) {
  return snapshot_of(at, "POST", kSnapshots, pull_body(options));
}

Task<sdk::Snapshot> import_archive(Connection& at, std::string name,
                                   std::unique_ptr<ByteSource> archive) {
  std::string target = std::string(kSnapshots) + "/archive";
  const auto [bare, tag] = name_and_tag(name);
  if (!bare.empty()) target += "?name=" + http::encode_segment(bare);
  if (!tag.empty()) target += "&tag=" + http::encode_segment(tag);
  auto answer =
      co_await at.upload("POST", std::move(target), "application/octet-stream", std::move(archive));
  if (!answer) co_return std::move(answer).error();
  co_return snapshot_from(*answer);
}

Task<sdk::Snapshot> tag(Connection& at, std::string ref, std::string tag) {
  return snapshot_of(at, "POST", snapshot_target(ref, "/tag"), tag_body(tag));
}

Task<sdk::PushState> push(Connection& at, std::string ref, sdk::PushOptions options) {
  auto answer = co_await at.call_json("POST", snapshot_target(ref, "/push"),
                                      codec::write(push_body(options)));
  if (!answer) co_return std::move(answer).error();
  co_return push_from(*answer);
}

Task<sdk::PushState> push_state(Connection& at, std::string ref) {
  auto answer = co_await at.call_json("GET", snapshot_target(ref, "/push"));
  if (!answer) co_return std::move(answer).error();
  co_return push_from(*answer);
}

ApiError not_ready(const sdk::Snapshot& snapshot) {
  return {ErrorCode::kNotReady, "snapshot_" + snapshot.status,
          snapshot.status_message.empty() ? "snapshot " + snapshot.name + " is " + snapshot.status
                                          : snapshot.status_message};
}

ApiError not_pushed(const std::string& image, const sdk::PushState& state) {
  return {ErrorCode::kUnavailable, "push_failed", image + " could not be pushed: " + state.message};
}

Task<void> remove_snapshot(Connection& at, std::string ref) {
  auto answer = co_await at.call("DELETE", snapshot_target(ref));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

Task<sdk::Snapshot> capture(Connection& at, std::string ref, std::string name) {
  return snapshot_of(at, "POST", sandbox_target(ref, "/snapshot"), capture_body(name));
}

Task<std::vector<sdk::SandboxInfo>> fork(Connection& at, std::string ref,
                                         sdk::ForkOptions options) {
  auto answer =
      co_await at.call_json("POST", sandbox_target(ref, "/fork"), codec::write(fork_body(options)));
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "items", sandbox_from);
}

Task<sdk::SandboxInfo> rollback(Connection& at, std::string ref, std::string to) {
  auto answer = co_await at.call_json("POST", sandbox_target(ref, "/rollback"),
                                      codec::write(rollback_body(to)));
  if (!answer) co_return std::move(answer).error();
  co_return sandbox_from(*answer);
}

}  // namespace cay::client
