#include "api/common/stdin_write.h"

#include <algorithm>

#include "async/deadline.h"
#include "core/verbs/commands.h"

namespace cay::api {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPiece =
    64 * 1024;  // taken or refused as one: what was refused can be written again
constexpr Millis kFirstPause = 10ms;
constexpr Millis kLongestPause = 500ms;

// Returns the meaning of `refused`: a command that has ended takes nothing more, and its end has
// the reason.
Task<void> judge(core::Cay& cay, Principal who, std::string ref, CommandId id, Error refused) {
  if (stdin_is_over(refused)) co_return refused;
  auto command = co_await cay.commands().get(std::move(who), std::move(ref), std::move(id));
  const bool ended = command && command->end.state != CommandState::kRunning;
  if (ended) co_return Error{Code::kNotReady, "stdin_closed", "the command has ended", 0};
  co_return refused;
}

}  // namespace

bool stdin_is_over(const Error& error) { return error.reason == "stdin_closed"; }

Task<void> write_whole_stdin(core::Cay& cay, Principal who, std::string ref, CommandId id,
                             Bytes data, bool more) {
  for (std::size_t at = 0; at < data.size(); at += kPiece) {
    const bool behind = more || at + kPiece < data.size();
    for (Millis pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
      Bytes piece = data.substr(at, kPiece);
      auto written = co_await cay.commands().write_stdin(who, ref, id, std::move(piece), behind);
      if (written) break;
      auto judged = co_await judge(cay, who, ref, id, std::move(written).error());
      if (judged.error().reason != "stdin_backlog") co_return judged;
      co_await sleep_for(pause);
    }
  }
  co_return Result<void>();
}

Task<void> end_stdin(core::Cay& cay, Principal who, std::string ref, CommandId id) {
  auto closed = co_await cay.commands().close_stdin(who, ref, id);
  if (closed) co_return closed;
  auto judged = co_await judge(cay, who, ref, id, std::move(closed).error());
  co_return judged;
}

Error of_one_that_began(Error refused) {
  if (refused.reason != "unknown_command") return refused;
  return {Code::kNotReady, "stdin_closed", "the command has ended, and its keeping time is over",
          0};
}

Task<void> kill_for_lost_input(core::Cay& cay, Principal who, std::string ref, CommandId id,
                               Error why) {
  auto killed = co_await cay.commands().kill(std::move(who), std::move(ref), std::move(id), 0);
  static_cast<void>(killed);  // one that is gone already read no wrong end
  why.message = "the command's input could not all be written, so it was killed: " + why.message;
  co_return why;
}

}  // namespace cay::api
