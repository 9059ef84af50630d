#include "api/native/run_command.h"

#include <algorithm>

#include "api/common/answer_size.h"
#include "api/common/stdin_write.h"
#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "codec/model_json.h"
#include "codec/network_json.h"
#include "core/verbs/commands.h"
#include "core/verbs/events.h"
#include "core/verbs/inspection.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::native {
namespace {

Task<void> write_all(core::Cay& cay, Principal who, std::string sandbox, CommandId id,
                     Bytes bytes) {
  CAY_CO_CHECK(co_await write_whole_stdin(cay, who, sandbox, id, std::move(bytes), true));
  auto ended = co_await end_stdin(cay, who, sandbox, id);
  co_return ended;
}

constexpr Millis kRefusedLimit{1'000};    // the command's end is what is waited for
constexpr std::size_t kMostRefused = 32;  // the latest

// Lists what `cay exec --json` lists. nullopt: the report did not come in time.
asio::awaitable<std::optional<codec::json::array>> refused_meanwhile(core::Cay& cay, Principal who,
                                                                     std::string sandbox,
                                                                     UnixMillis since) {
  auto asking = cay.inspection().network(std::move(who), std::move(sandbox));
  const auto report = co_await with_deadline(std::move(asking), kRefusedLimit, "what was refused");
  if (!report) co_return std::nullopt;
  codec::json::array out;
  const codec::json::object shown = codec::to_json(*report);
  const auto& items = shown.at("items").as_array();
  for (std::size_t i = 0; i < report->items.size(); ++i) {
    const NetworkDecision& line = report->items[i];
    if (line.allowed || (line.last_at < since && line.first_at < since)) continue;
    codec::json::object one;
    for (const char* name : {"host", "port", "reason", "rule", "needs", "preset"})
      one[name] = items[i].as_object().at(name);
    out.emplace_back(std::move(one));
  }
  if (out.size() > kMostRefused) out.erase(out.begin(), out.end() - kMostRefused);
  co_return out;
}

struct Collecting {
  explicit Collecting(asio::any_io_executor loop) : over(std::move(loop)) {}
  std::optional<Result<Collected>> result;
  Event over;  // collected, or the daemon ends
};

asio::awaitable<void> collect_into(Collecting& to, core::Reader reader, std::uint64_t most,
                                   AnswerPart part) {
  try {
    auto got = co_await collect(std::move(reader), most, std::move(part));
    to.result.emplace(std::move(got));
  } catch (...) {
    to.over.set();
    throw;
  }
  to.over.set();
}

Error daemon_ends(const CommandId& id) {
  return {Code::kUnavailable, "shutting_down",
          "the daemon is ending, and command " + id.get() + " goes on: read it from .../commands/" +
              id.get() + " when the daemon is back",
          0};
}

// Collects the command's output to its end. nullopt: it has not ended within `wait_ms`. If the
// daemon ends first, it answers so at once. The command goes on, and a request with the same id
// finds it.
Task<std::optional<Collected>> collect_meanwhile(core::Cay& cay, core::Reader reader,
                                                 const codec::CommandRequest& request,
                                                 AnswerPart part) {
  const auto loop = co_await asio::this_coro::executor;
  const CommandId id = reader->command().id;
  const auto deadline = request.wait_ms ? deadline_in(Millis(*request.wait_ms)) : Event::kNever;
  Collecting work(loop);
  Scope scope(loop);
  scope.spawn(collect_into(work, std::move(reader), request.max_output_bytes, std::move(part)));
  const auto watch = cay.events().when_ended([&work] { work.over.set(); });
  auto waiting = work.over.wait_until(deadline);
  const bool over = co_await scope.until(std::move(waiting));
  if (work.result && !*work.result) co_return std::move(*work.result).error();
  if (work.result) co_return std::optional<Collected>(**std::move(work.result));
  if (over) co_return daemon_ends(id);
  co_return std::optional<Collected>();
}

}  // namespace

Result<void> check_room(const codec::CommandRequest& request, const core::AnswerRoom::Part& part) {
  return part.check(std::min(2 * request.max_output_bytes, kMostAnswer));
}

Task<Ran> run_to_end(core::Cay& cay, ExchangePtr exchange, std::string ref,
                     codec::CommandRequest request, AnswerPart part, std::string besides) {
  auto there_is = check_room(request, *part);
  if (!there_is) co_return std::move(there_is).error();
  const Principal who = exchange->principal();
  // By its id from here on: the name may be another sandbox's while the command runs.
  auto box = co_await cay.sandboxes().get(who, std::move(ref));
  if (!box) co_return std::move(box).error();
  const std::string sandbox = box->id.get();
  auto reader = co_await cay.commands().run(who, sandbox, std::move(request.spec));
  if (!reader) co_return std::move(reader).error();
  const Command command = (*reader)->command();
  exchange->note_subject("command " + command.id.get() +
                         besides);  // whoever leaves before its end has run it all the same
  // A repeat with a known id attaches: its stdin was the first request's to write.
  if (request.stdin_bytes && !command.known) {
    auto written =
        co_await write_all(cay, who, sandbox, command.id, *std::move(request.stdin_bytes));
    if (!written) written = of_one_that_began(std::move(written).error());
    // A command may end before it has read all. The answer has its end.
    if (!written && !stdin_is_over(written.error())) {
      auto killed =
          co_await kill_for_lost_input(cay, who, sandbox, command.id, std::move(written).error());
      co_return std::move(killed).error();
    }
  }
  auto collected = co_await collect_meanwhile(cay, *std::move(reader), request, part);
  if (!collected) co_return std::move(collected).error();
  Ran got;
  if (!*collected) {
    part->hold(0);
    got.runs_on = true;
    CAY_CO_TRY(got.command, co_await cay.commands().get(who, sandbox, command.id));
    got.command.known = command.known;
    co_return got;
  }
  static_cast<Collected&>(got) = **std::move(collected);
  got.command.known = command.known;  // of this request, as an answer without a wait has it
  const std::uint64_t needs = bytes_size(got.out) + bytes_size(got.err);
  if (got.too_large || needs > kMostAnswer) {
    co_return Error{
        Code::kInvalidArgument, "output_too_large",
        "command " + command.id.get() +
            " ran to its end, but so much of its output is more than the 64 MiB of JSON "
            "that one answer holds: read it from .../commands/" +
            command.id.get() + "/output, or ask for less with max_output_bytes",
        0};
  }
  if (got.no_room || !part->need(needs)) {
    co_return output_not_held("command " + command.id.get() + " ran to its end",
                              "read it from .../commands/" + command.id.get() + "/output");
  }
  if (shell_exit_code(got.command.end) != 0) {
    got.network_refused = co_await refused_meanwhile(cay, who, sandbox, got.command.started_at);
  }
  co_return got;
}

codec::json::object result_json(const Ran& got, const std::string& sandbox) {
  const codec::json::object command = codec::to_json(got.command);
  codec::json::object out;
  for (const auto* name : {"state", "exit_code", "signal", "by", "reason", "shell_exit_code"})
    out[name] = command.at(name);
  codec::put_bytes(out, "stdout", got.out);
  codec::put_bytes(out, "stderr", got.err);
  out["stdout_gap"] = codec::to_json(got.out_gap);
  out["stderr_gap"] = codec::to_json(got.err_gap);
  out["stdout_bytes"] = bytes_at_end(got.command.out);
  out["stderr_bytes"] = bytes_at_end(got.command.err);
  out["truncated"] = got.truncated;
  for (const auto* name : {"oom_kills", "tmpfs_bytes", "started_at", "ended_at"})
    out[name] = command.at(name);
  out["command_id"] = got.command.id.get();
  out["sandbox"] = sandbox;
  if (got.network_refused) out["network_refused"] = *got.network_refused;
  return out;
}

}  // namespace cay::api::native
