#include "api/native/run_command.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>

#include "api/common/answer_size.h"
#include "api/common/stdin_write.h"
#include "async/cut.h"
#include "async/deadline.h"
#include "async/event.h"
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

Error daemon_ends(const CommandId& id) {
  return {Code::kUnavailable, "shutting_down",
          "the daemon is ending, and command " + id.get() + " goes on: read it from .../commands/" +
              id.get() + " when the daemon is back",
          0};
}

Task<std::string> id_of(core::Cay& cay, Principal who, std::string ref) {
  if (is_uuid(ref)) co_return ref;  // no name looks so
  CAY_CO_TRY(const auto box, co_await cay.sandboxes().get(std::move(who), std::move(ref)));
  co_return box.id.get();
}

using Got = std::optional<Result<Collected>>;

asio::awaitable<void> collect_into(Got& to, core::Reader reader, std::uint64_t most,
                                   AnswerPart part) {
  auto got = co_await collect(std::move(reader), most, std::move(part));
  to.emplace(std::move(got));
}

// Collects the command's output to its end. nullopt: it has not ended within `wait_ms`. If the
// daemon ends first, it answers so at once. The command goes on, and a request with the same id
// finds it.
Task<std::optional<Collected>> collect_meanwhile(core::Cay& cay, core::Reader reader,
                                                 const codec::CommandRequest& request,
                                                 AnswerPart part) {
  const CommandId id = reader->command().id;
  Cut work;
  const auto watch = cay.events().when_ended([work]() mutable { work.now(); });
  const auto late = std::make_shared<bool>(false);
  asio::steady_timer limit(co_await asio::this_coro::executor);
  if (request.wait_ms) {
    limit.expires_after(Millis(*request.wait_ms));
    limit.async_wait([work, late](boost::system::error_code cancelled) mutable {
      if (cancelled) return;
      *late = true;
      work.now();
    });
  }
  Got got;
  std::exception_ptr failure;
  try {
    co_await work.run(collect_into(got, std::move(reader), request.max_output_bytes, part));
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && !is_cancellation(failure)) std::rethrow_exception(failure);
  co_await throw_if_cancelled();  // it was the caller's end
  if (got && !*got) co_return std::move(*got).error();
  if (got) co_return std::optional<Collected>(**std::move(got));
  if (!*late) co_return daemon_ends(id);
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
  CAY_CO_TRY(const std::string sandbox, co_await id_of(cay, who, std::move(ref)));
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
  constexpr std::size_t kMembers = 24;
  codec::json::object out(codec::of_one_tree());
  out.reserve(kMembers);
  codec::put_end(out, got.command);
  codec::put_bytes(out, "stdout", got.out);
  codec::put_bytes(out, "stderr", got.err);
  out["stdout_gap"] = codec::to_json(got.out_gap);
  out["stderr_gap"] = codec::to_json(got.err_gap);
  out["stdout_bytes"] = bytes_at_end(got.command.out);
  out["stderr_bytes"] = bytes_at_end(got.command.err);
  out["truncated"] = got.truncated;
  out["command_id"] = got.command.id.get();
  out["sandbox"] = sandbox;
  if (got.network_refused) out["network_refused"] = *got.network_refused;
  return out;
}

}  // namespace cay::api::native
