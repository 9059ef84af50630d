#include "client/api.h"
#include "client/json_read.h"
#include "client/json_write.h"
#include "client/pages.h"
#include "client/retry.h"
#include "model/ids.h"

namespace cay::client {
namespace {

constexpr int kPageSize = 500;  // the most that the daemon gives

template <class Value>
Task<Value> read_as(Connection& at, std::string method, std::string target, std::string body,
                    Value (*read)(const json::object&)) {
  auto answer = co_await at.call_json(std::move(method), std::move(target), std::move(body));
  if (!answer) co_return std::move(answer).error();
  co_return read(*answer);
}

std::string list_target(const sdk::ListOptions& options) {
  std::string out = "/api/v1/sandboxes?limit=" + std::to_string(kPageSize);
  for (const auto& label : options.labels) out += "&label=" + http::encode_segment(label);
  if (!options.state.empty()) out += "&state=" + http::encode_segment(options.state);
  if (!options.name_contains.empty())
    out += "&name_contains=" + http::encode_segment(options.name_contains);
  if (!options.claim.empty()) out += "&claim=" + http::encode_segment(options.claim);
  return out;
}

Ensured ensured_from(const json::object& from) {
  return {sandbox_from(from), bool_in(from, "created")};
}

}  // namespace

Task<sdk::SandboxInfo> create(Connection& at, sdk::CreateOptions options) {
  return read_as(at, "POST", "/api/v1/sandboxes", codec::write(create_body(options)),
                 &sandbox_from);
}

Task<Ensured> ensure(Connection& at, std::string claim, sdk::CreateOptions options) {
  return read_as(at, "POST", "/api/v1/sandboxes/ensure", codec::write(ensure_body(claim, options)),
                 &ensured_from);
}

Task<sdk::SandboxInfo> get(Connection& at, std::string ref) {
  return read_as(at, "GET", sandbox_target(ref), {}, &sandbox_from);
}

Task<std::string> id_of(Connection& at, std::string ref) {
  if (is_uuid(ref)) co_return ref;
  CAY_CO_TRY(auto info, co_await get(at, std::move(ref)));
  co_return std::move(info.id);
}

Task<sdk::SandboxInfo> update(Connection& at, std::string ref, sdk::UpdateOptions options) {
  return read_as(at, "PATCH", sandbox_target(ref), codec::write(update_body(options)),
                 &sandbox_from);
}

Task<sdk::SandboxInfo> start(Connection& at, std::string ref, double timeout_s) {
  auto now = co_await read_as(at, "POST", sandbox_target(ref, "/start"), {}, &sandbox_from);
  Retry pauses(at.executor(), timeout_s);
  while (now && now->state == "provisioning") {
    const bool again = co_await pauses.pause();
    if (!again) {
      co_return Error{Code::kDeadlineExceeded, "start_timeout",
                      "sandbox " + ref + " is not ready after " +
                          std::to_string(static_cast<int>(timeout_s)) +
                          " s; it goes on starting: `cay ls` shows its state",
                      0};
    }
    now = co_await get(at, ref);
  }
  if (now && now->state != "ready") {
    co_return Error{
        Code::kNotReady, "start_failed",
        "sandbox " + ref + " is " + now->state + (now->reason.empty() ? "" : ": " + now->reason),
        0};
  }
  co_return now;
}

Task<sdk::SandboxInfo> stop(Connection& at, std::string ref) {
  return read_as(at, "POST", sandbox_target(ref, "/stop"), {}, &sandbox_from);
}

Task<sdk::SandboxInfo> pause(Connection& at, std::string ref) {
  return read_as(at, "POST", sandbox_target(ref, "/pause"), {}, &sandbox_from);
}

Task<sdk::SandboxInfo> resume(Connection& at, std::string ref) {
  return read_as(at, "POST", sandbox_target(ref, "/resume"), {}, &sandbox_from);
}

Task<void> remove(Connection& at, std::string ref) {
  auto answer = co_await at.call("DELETE", sandbox_target(ref));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

Task<std::vector<sdk::SandboxInfo>> list(Connection& at, sdk::ListOptions options) {
  return all_pages(at, list_target(options), &sandbox_from);
}

Task<sdk::Stats> stats(Connection& at, std::string ref) {
  return read_as(at, "GET", sandbox_target(ref, "/stats"), {}, &stats_from);
}

Task<sdk::NetworkReport> network(Connection& at, std::string ref) {
  return read_as(at, "GET", sandbox_target(ref, "/network"), {}, &network_from);
}

Task<sdk::ProgramPage> programs(Connection& at, std::string ref, std::uint64_t offset,
                                std::uint32_t limit) {
  const std::string query =
      "/programs?offset=" + std::to_string(offset) + "&limit=" + std::to_string(limit);
  return read_as(at, "GET", sandbox_target(ref, query), {}, &programs_from);
}

Task<std::vector<sdk::Feature>> doctor(Connection& at) {
  auto answer = co_await at.call_json("GET", "/api/v1/doctor");
  if (!answer) co_return std::move(answer).error();
  co_return list_from(*answer, "features", feature_from);
}

Task<sdk::Version> version(Connection& at) {
  return read_as(at, "GET", "/api/v1/version", {}, &version_from);
}

}  // namespace cay::client
