#include "api/daytona/toolbox/session_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/common/answer_size.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/session_record.h"
#include "async/deadline.h"

namespace cay::api::daytona {
namespace {

using namespace std::chrono_literals;
using Patience = core::Contexts::Patience;

constexpr core::Contexts::Wait kPatience{15'000};
constexpr std::size_t kMostLaterCalls = 100;  // that are looked through for output of jobs
constexpr Millis kUntilItBegins = 200ms;

// The output in an event. Nothing: it is none of this command's output.
std::optional<SessionReader::Piece> piece_of(ContextEvent& event) {
  using Kind = ContextEvent::Kind;
  switch (event.kind) {
    case Kind::kStdout: return SessionReader::Piece{Stream::kStdout, std::move(event.text)};
    case Kind::kStderr: return SessionReader::Piece{Stream::kStderr, std::move(event.text)};
    case Kind::kError:
      return SessionReader::Piece{Stream::kStderr, event.name + ": " + event.text + "\n"};
    case Kind::kGap:
      return SessionReader::Piece{Stream::kStderr, "\n[" + std::to_string(event.bytes) +
                                                       " bytes of output were dropped here]\n"};
    case Kind::kDisplay:
    case Kind::kResult:
    case Kind::kBackground:
    case Kind::kUnreadable: return std::nullopt;
  }
  return std::nullopt;
}

Error too_much_for_logs() {
  return vendor_error(kUnprocessable,
                      "the command printed more than one answer holds: follow its logs, or write "
                      "its output to a file. It goes on");
}

}  // namespace

std::optional<int> exit_code_of(const Evaluation& evaluation) {
  if (evaluation.state == EvaluationState::kRunning) return std::nullopt;
  if (evaluation.exit_code) return static_cast<int>(*evaluation.exit_code);
  if (evaluation.driver) return shell_exit_code(evaluation.driver->end);
  constexpr int kFailed = 1;
  return evaluation.state == EvaluationState::kOk ? 0 : kFailed;
}

SessionReader::SessionReader(core::Cay& cay, Box box, std::string session, std::string command)
    : cay_(cay),
      box_(std::move(box)),
      context_(context_of_session(session)),
      command_(std::move(command)) {}

Task<SessionReader::Pieces> SessionReader::next(core::Contexts::Wait wait) {
  const Patience patience{.wait = wait, .until = Patience::Until::kEvent};
  auto got =
      co_await cay_.contexts().evaluation(box_.who, box_.ref, context_, command_, place_, patience);
  Pieces out;
  // It waits for another one, and another daemon wrote it to the shell.
  if (!got && got.error().reason == "unknown_evaluation") {
    auto context = co_await cay_.contexts().get(box_.who, box_.ref, context_);
    if (!context) co_return std::move(context).error();
    out.over = context->command.end.state != CommandState::kRunning;
    if (out.over) exit_code_ = shell_exit_code(context->command.end);
    if (!out.over && wait.count() > 0) {
      co_await sleep_for(std::min<Millis>(wait, kUntilItBegins));
    }
    co_return out;
  }
  if (!got) co_return std::move(got).error();
  for (ContextEvent& event : got->events) {
    auto piece = piece_of(event);
    if (piece) out.pieces.push_back(*std::move(piece));
  }
  place_ = got->next;
  out.over = !got->more && got->state != EvaluationState::kRunning;
  if (out.over) exit_code_ = exit_code_of(*got);
  // A quiet moment, unless more lies there already.
  if (got->more && out.pieces.empty()) out.pieces.push_back({Stream::kStdout, ""});
  co_return out;
}

Task<SessionLog> read_session_log(SessionReader& reader, AnswerPart part, bool to_end) {
  SessionLog log;
  MuxWriter mux;
  for (;;) {
    CAY_CO_TRY(const auto got, co_await reader.next(to_end ? kPatience : core::Contexts::Wait(0)));
    for (const auto& piece : got.pieces) {
      (piece.stream == Stream::kStdout ? log.out : log.err) += piece.text;
      log.output += mux.add(piece.stream, piece.text);
    }
    const std::uint64_t needs = 2 * (text_size(log.out) + text_size(log.err));
    if (needs > kMostAnswer || !part->need(needs)) {
      co_return too_much_for_logs();
    }
    if (got.over) break;
    if (!to_end && got.pieces.empty()) break;
  }
  log.exit_code = reader.exit_code();
  co_return log;
}

Task<SessionLog> with_output_of_jobs(core::Cay& cay, Box box, std::string session,
                                     std::string command, SessionLog log, AnswerPart part) {
  CAY_CO_TRY(const auto all, co_await commands_of_session(cay, box, session));
  const std::string context = context_of_session(session);
  MuxWriter mux;
  auto later = std::ranges::find(all, command);
  for (std::size_t i = 0; later != all.end() && i <= kMostLaterCalls; ++later, ++i) {
    std::optional<ContextPlace> place;
    for (bool more = *later != command; more;) {
      auto got = co_await cay.contexts().evaluation(box.who, box.ref, context, *later, place, {});
      if (!got) break;  // it waits for another one
      for (const ContextEvent& event : got->events) {
        if (event.kind != ContextEvent::Kind::kBackground || event.of != command) continue;
        const Stream stream = event.name == "stderr" ? Stream::kStderr : Stream::kStdout;
        (stream == Stream::kStdout ? log.out : log.err) += event.text;
        log.output += mux.add(stream, event.text);
      }
      place = got->next;
      more = got->more;
      const std::uint64_t needs = 2 * (text_size(log.out) + text_size(log.err));
      if (needs > kMostAnswer || !part->need(needs)) co_return too_much_for_logs();
    }
  }
  co_return log;
}

}  // namespace cay::api::daytona
