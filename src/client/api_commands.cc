#include <algorithm>

#include "client/api.h"
#include "client/json_read.h"
#include "client/pages.h"

namespace cay::client {
namespace {

std::string command_target(const std::string& ref, const std::string& id,
                           std::string_view rest = {}) {
  return sandbox_target(ref, "/commands/" + http::encode_segment(id) + std::string(rest));
}

std::optional<sdk::ResultGap> result_gap(const std::optional<codec::KeptGap>& gap) {
  if (!gap) return std::nullopt;
  return sdk::ResultGap{
      .offset = gap->offset, .length = gap->length, .at = gap->at, .note_bytes = gap->note_bytes};
}

}  // namespace

Task<sdk::CommandInfo> start_detached(Connection& at, std::string ref, json::object spec) {
  spec["wait"] = false;
  auto answer = co_await at.call_json("POST", sandbox_target(ref, "/commands"), codec::write(spec));
  if (!answer) co_return std::move(answer).error();
  co_return command_from(*answer);
}

Task<std::vector<sdk::CommandInfo>> commands(Connection& at, std::string ref) {
  return all_pages(at, sandbox_target(ref, "/commands?limit=1000"), &command_from);
}

Task<sdk::CommandInfo> command(Connection& at, std::string ref, std::string id) {
  auto answer = co_await at.call_json("GET", command_target(ref, id));
  if (!answer) co_return std::move(answer).error();
  co_return command_from(*answer);
}

Task<void> kill(Connection& at, std::string ref, std::string id, int signal) {
  std::string body =
      signal == 0 ? std::string("{}") : "{\"signal\":" + std::to_string(signal) + "}";
  auto answer = co_await at.call("POST", command_target(ref, id, "/kill"), std::move(body));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

Task<void> forget(Connection& at, std::string ref, std::string id) {
  auto answer = co_await at.call("DELETE", command_target(ref, id));
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>();
}

void Gatherer::add_output(sdk::Output& output) {
  const bool is_out = output.stream == sdk::Stream::kStdout;
  const auto& callback = is_out ? callbacks_.on_stdout : callbacks_.on_stderr;
  if (callback) {
    callback(output.bytes);
  } else {
    (is_out ? out_ : err_).add(output.offset, output.bytes);
  }
}

void Gatherer::add_gap(const sdk::Gap& gap) {
  const bool is_out = gap.stream == sdk::Stream::kStdout;
  result_.truncated = true;
  if (!(is_out ? callbacks_.on_stdout : callbacks_.on_stderr)) {
    (is_out ? out_ : err_).add_gap(gap.offset, gap.length);
  }
  if (callbacks_.on_gap) callbacks_.on_gap(gap);
}

bool Gatherer::add(sdk::Event event) {
  if (auto* output = std::get_if<sdk::Output>(&event)) {
    add_output(*output);
    return false;
  }
  if (auto* end = std::get_if<sdk::End>(&event)) {
    result_.command = std::move(end->command);
    return true;
  }
  if (const auto* gap = std::get_if<sdk::Gap>(&event)) add_gap(*gap);
  return false;
}

sdk::CommandResult Gatherer::take(std::string sandbox) {
  result_.sandbox = std::move(sandbox);
  auto out = out_.take();
  auto err = err_.take();
  result_.out = std::move(out.bytes);
  result_.err = std::move(err.bytes);
  result_.out_gap = result_gap(out.gap);
  result_.err_gap = result_gap(err.gap);
  result_.truncated = result_.truncated || out.gap || err.gap;
  return std::move(result_);
}

Task<sdk::CommandResult> gather(CommandStream& stream, sdk::OutputCallbacks callbacks,
                                std::size_t keep) {
  Gatherer gatherer(callbacks, keep);
  while (true) {
    auto event = co_await stream.next();
    if (!event) co_return std::move(event).error();
    if (gatherer.add(*std::move(event))) co_return gatherer.take(stream.ref());
  }
}

}  // namespace cay::client
