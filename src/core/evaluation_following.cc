#include "core/evaluation_following.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "async/until_set.h"
#include "core/errors.h"
#include "core/verbs/events.h"

namespace cay::core {
namespace {

using Until = Contexts::Patience::Until;

}  // namespace

Task<void> read_on(std::shared_ptr<Following> from, std::uint64_t most, Until what) {
  while (!from->is_over() && from->at < most) {
    if (what == Until::kEvent && from->events.has_events()) break;
    CAY_CO_TRY(OutputEvent event, co_await from->reader->next());
    if (auto* end = std::get_if<OutputEnd>(&event)) {
      from->ended = std::move(end->command);
    } else if (const auto* gap = std::get_if<OutputGap>(&event)) {
      if (gap->stream != Stream::kStdout) {
        from->passed_ledger = gap->offset + gap->length;
        continue;
      }
      from->at = gap->offset + gap->length;
      from->events.gap(std::min(from->at, from->until) - std::min(gap->offset, from->until));
    } else if (const auto* data = std::get_if<OutputData>(&event)) {
      if (data->stream != Stream::kStdout) {
        from->passed_ledger = data->offset + data->bytes.size();
        continue;
      }
      from->at = data->offset + data->bytes.size();
      from->events.feed(data->bytes);
    }
  }
  co_return Result<void>();
}

Task<void> read_on_for(Events& daemon, std::shared_ptr<Following> from,
                       Contexts::Patience patience) {
  const auto loop = co_await asio::this_coro::executor;
  Event ends(loop);
  const auto watch = daemon.when_ended([&ends] { ends.set(); });
  auto reading = read_on(from, kToTheEnd, patience.until);
  auto read =
      co_await with_deadline_until_set(std::move(reading), patience.wait, ends, shutting_down());
  if (read || read.error().code == Code::kDeadlineExceeded) co_return Result<void>();
  if (read.error().reason == kShuttingDown && patience.until == Until::kEnd)
    co_return Result<void>();
  co_return read;
}

Evaluation result_of(Following& from, const code::LedgerEntry* entry, std::string context,
                     std::string run, std::uint32_t generation) {
  // All that is kept was read. The driver's own word for the end stands before this one.
  const bool all_read = from.ended || (entry != nullptr && entry->end && from.at >= *entry->end);
  if (entry != nullptr && all_read) from.events.settle(*entry);
  Evaluation out{.id = std::move(run),
                 .context = std::move(context),
                 .state = from.events.state(),
                 .events = from.events.take_events(),
                 .next = {.generation = generation, .offset = from.events.next()},
                 .more = from.events.is_full(),
                 .exit_code = from.events.ending().exit_code,
                 .cwd = from.events.ending().cwd,
                 .ended = from.events.ending().shell_ended};
  if (out.state == EvaluationState::kRunning && from.ended && !out.more) {
    out.state = EvaluationState::kLost;
    out.driver = std::move(from.ended);
  }
  return out;
}

Task<void> read_ledger(Reader reader, std::uint64_t most, code::Ledger& ledger) {
  while (ledger.read_to() < most) {
    CAY_CO_TRY(OutputEvent event, co_await reader->next());
    if (std::holds_alternative<OutputEnd>(event)) break;
    if (const auto* gap = std::get_if<OutputGap>(&event)) {
      if (gap->stream == Stream::kStderr) ledger.gap(gap->length);
    } else if (const auto* data = std::get_if<OutputData>(&event)) {
      if (data->stream == Stream::kStderr) ledger.feed(data->bytes);
    }
  }
  co_return Result<void>();
}

Task<void> read_unlisted(Reader reader, std::uint64_t most, code::Ledger& ledger) {
  std::string bytes;
  for (std::uint64_t at = ledger.listed_to(); at < most;) {
    CAY_CO_TRY(OutputEvent event, co_await reader->next());
    if (std::holds_alternative<OutputEnd>(event)) break;
    if (const auto* gap = std::get_if<OutputGap>(&event)) {
      if (gap->stream != Stream::kStdout) continue;
      ledger.lose();
      co_return Result<void>();
    }
    const auto* data = std::get_if<OutputData>(&event);
    if (data == nullptr || data->stream != Stream::kStdout) continue;
    bytes += data->bytes;
    at += data->bytes.size();
  }
  ledger.feed_unlisted(bytes);
  co_return Result<void>();
}

}  // namespace cay::core
