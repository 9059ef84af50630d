#include "api/daytona/toolbox/session_log.h"

#include <chrono>
#include <utility>

#include "api/common/answer_size.h"
#include "api/daytona/toolbox/ends.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/session_record.h"
#include "async/deadline.h"

namespace cay::api::daytona {
namespace {

using namespace std::chrono_literals;
using Patience = core::Contexts::Patience;

constexpr core::Contexts::Wait kPatience{15'000};
constexpr Millis kUntilItBegins = 200ms;
constexpr int kMostLooks = 2;  // at a shell that is idle and does not know a command

// The output in an event. Nothing: it is none of this command's output.
std::optional<SessionReader::Piece> piece_of(ContextEvent& event) {
  using Kind = ContextEvent::Kind;
  switch (event.kind) {
    case Kind::kStdout: return SessionReader::Piece{Stream::kStdout, std::move(event.text)};
    case Kind::kStderr: return SessionReader::Piece{Stream::kStderr, std::move(event.text)};
    case Kind::kError:
      return SessionReader::Piece{Stream::kStderr, event.name + ": " + event.text + "\n"};
    // The kept form of output is a little longer than the output.
    case Kind::kGap:
    case Kind::kUnreadable:
      return SessionReader::Piece{Stream::kStderr,
                                  dropped_line("about " + std::to_string(event.bytes))};
    case Kind::kDisplay:
    case Kind::kResult:
    case Kind::kBackground: return std::nullopt;
  }
  return std::nullopt;
}

std::vector<SessionReader::Piece> pieces_of(std::vector<ContextEvent>& events) {
  std::vector<SessionReader::Piece> out;
  for (ContextEvent& event : events) {
    auto piece = piece_of(event);
    if (piece) out.push_back(*std::move(piece));
  }
  return out;
}

Error too_much_for_logs() {
  return vendor_error(kUnprocessable,
                      "the command printed more than one answer holds: follow its logs, or write "
                      "its output to a file. It goes on");
}

Error never_ran() {
  return vendor_error(kNeverRan,
                      "the command never ran: its request was lost before the session's shell got "
                      "it. Send it again");
}

// A log as it grows in an answer.
class LogWriter {
 public:
  explicit LogWriter(AnswerPart part) : part_(std::move(part)) {}
  Result<void> add(const std::vector<SessionReader::Piece>& pieces) {
    for (const auto& piece : pieces) {
      (piece.stream == Stream::kStdout ? log_.out : log_.err) += piece.text;
      log_.output += mux_.add(piece.stream, piece.text);
    }
    const std::uint64_t needs = 2 * (text_size(log_.out) + text_size(log_.err));
    if (needs > kMostAnswer || !part_->need(needs)) return too_much_for_logs();
    return {};
  }
  SessionLog take() { return std::move(log_); }

 private:
  const AnswerPart part_;
  SessionLog log_;
  MuxWriter mux_;
};

}  // namespace

SessionReader::SessionReader(core::Cay& cay, Box box, std::string session, std::string command)
    : cay_(cay),
      box_(std::move(box)),
      context_(context_of_session(session)),
      command_(std::move(command)),
      exit_code_(std::optional<int>()) {}

Task<SessionReader::Pieces> SessionReader::next(core::Contexts::Wait wait) {
  const Patience patience{.wait = wait, .until = Patience::Until::kEvent};
  auto got =
      co_await cay_.contexts().evaluation(box_.who, box_.ref, context_, command_, place_, patience);
  if (!got && got.error().reason == "unknown_evaluation") {
    auto begins = co_await wait_to_begin(wait);
    co_return begins;
  }
  if (!got) co_return std::move(got).error();
  Pieces out{.pieces = pieces_of(got->events)};
  place_ = got->next;
  out.over = !got->more && got->state != EvaluationState::kRunning;
  if (out.over) exit_code_ = exit_code_of(*got);
  // A quiet moment, unless more lies there already.
  if (got->more && out.pieces.empty()) out.pieces.push_back({Stream::kStdout, ""});
  co_return out;
}

// It waits for another one, and another daemon wrote it to the shell. Or that one never did.
Task<SessionReader::Pieces> SessionReader::wait_to_begin(core::Contexts::Wait wait) {
  Pieces out;
  auto known = co_await cay_.contexts().outcome(box_.who, box_.ref, context_, command_);
  if (known) {
    const Millis pause = std::min<Millis>(wait, kUntilItBegins);
    co_await sleep_for(pause);
    co_return out;
  }
  if (known.error().reason != "unknown_evaluation") co_return std::move(known).error();
  CAY_CO_TRY(const Context context, co_await cay_.contexts().get(box_.who, box_.ref, context_));
  out.over = context.command.end.state != CommandState::kRunning || ++missing_ >= kMostLooks;
  if (out.over) exit_code_ = never_ran();
  if (out.over) co_return out;
  co_await sleep_for(kUntilItBegins);
  co_return out;
}

Task<SessionReader::Pieces> SessionReader::next_of_jobs() {
  auto got =
      co_await cay_.contexts().output_of_jobs(box_.who, box_.ref, context_, command_, jobs_place_);
  // The driver of an older release has it with later commands alone.
  if (!got && got.error().reason == "unknown_evaluation") co_return Pieces{.over = true};
  if (!got) co_return std::move(got).error();
  jobs_place_ = got->next;
  co_return Pieces{.pieces = pieces_of(got->events), .over = !got->more};
}

Task<SessionLog> read_session_log(SessionReader& reader, AnswerPart part, LogPart until) {
  LogWriter log(std::move(part));
  const auto wait = until == LogPart::kSoFar ? core::Contexts::Wait(0) : kPatience;
  for (;;) {
    CAY_CO_TRY(const auto got, co_await reader.next(wait));
    CAY_CO_CHECK(log.add(got.pieces));
    if (got.over) break;
    if (until == LogPart::kSoFar && got.pieces.empty()) co_return log.take();
  }
  for (bool more = until != LogPart::kToEndAlone; more;) {
    CAY_CO_TRY(const auto got, co_await reader.next_of_jobs());
    CAY_CO_CHECK(log.add(got.pieces));
    more = !got.over;
  }
  co_return log.take();
}

Task<std::optional<int>> end_of_command(core::Cay& cay, Box box, std::string session,
                                        std::string command) {
  auto known =
      co_await cay.contexts().outcome(box.who, box.ref, context_of_session(session), command);
  if (known) co_return exit_code_of(*known);
  if (known.error().reason != "unknown_evaluation") co_return std::move(known).error();
  SessionReader reader(cay, std::move(box), std::move(session), std::move(command));
  for (int looks = 0; looks < kMostLooks; ++looks) {
    CAY_CO_TRY(const auto got, co_await reader.next(core::Contexts::Wait(0)));
    if (got.over) break;
  }
  co_return reader.exit_code();
}

}  // namespace cay::api::daytona
