#include "api/native/run_command.h"

#include "codec/model_json.h"

namespace cay::api::native {

Task<Collected> run_to_end(core::Cay& cay, Principal who, std::string ref, codec::CommandRequest request) {
  auto reader = co_await cay.commands().run(who, ref, std::move(request.spec));
  if (!reader) co_return std::move(reader).error();
  const Command command = (*reader)->command();
  // A repeat with a known id attaches: its stdin was the first request's to write.
  if (request.stdin_bytes && !command.known) {
    auto written = co_await cay.commands().write_stdin(who, ref, command.id, *std::move(request.stdin_bytes));
    // A command that ends before it has read all is nothing to complain of: its end tells.
    if (!written && is_ours(written.error().code)) co_return std::move(written).error();
    auto closed = co_await cay.commands().close_stdin(who, ref, command.id);
    if (!closed && is_ours(closed.error().code)) co_return std::move(closed).error();
  }
  auto got = co_await collect(*std::move(reader), request.max_output_bytes);
  co_return got;
}

codec::json::object result_json(const Collected& got, const std::string& sandbox) {
  const codec::json::object command = codec::to_json(got.command);
  codec::json::object out;
  for (const auto* name : {"state", "exit_code", "signal", "by", "reason", "shell_exit_code"}) out[name] = command.at(name);
  codec::put_bytes(out, "stdout", got.out);
  codec::put_bytes(out, "stderr", got.err);
  out["stdout_bytes"] = bytes_at_end(got.command.out);
  out["stderr_bytes"] = bytes_at_end(got.command.err);
  out["truncated"] = got.truncated;
  for (const auto* name : {"oom_kills", "tmpfs_bytes", "started_at", "ended_at"}) out[name] = command.at(name);
  out["command_id"] = got.command.id.get();
  out["sandbox"] = sandbox;
  return out;
}

}  // namespace cay::api::native
