#include "core/evaluation_search.h"

#include <utility>

#include "core/errors.h"

namespace cay::core {
namespace {

Error unknown_evaluation(const std::string& run) {
  return {Code::kNotFound, "unknown_evaluation",
          "no evaluation '" + run + "' in this context: it never began, or all of it was dropped",
          0};
}

Error evaluation_in_use(const std::string& run) {
  return {Code::kConflict, "evaluation_in_use",
          "evaluation '" + run + "' is one of other code: choose another id", 0};
}

const code::LedgerEntry* pointer_to(const std::optional<code::LedgerEntry>& entry) {
  return entry ? &*entry : nullptr;
}

// Its end as the ledger has it.
void take_end(Evaluation& out, const code::LedgerEntry& entry) {
  out.state = entry.state;
  out.exit_code = entry.exit_code;
  out.cwd = entry.cwd;
  out.ended = entry.shell_ended;
}

}  // namespace

bool has_ended(const Command& command) { return command.end.state != CommandState::kRunning; }

Task<EvaluationSearch::Entry> EvaluationSearch::entry_of(Principal who, ContextKey key,
                                                         Context context, std::string run) {
  const CommandId id = context.command.id;
  const std::uint64_t out = context.command.out.bytes;
  if (context.command.err.bytes == 0)
    co_return Entry{};  // an older driver, or one that has not come to it
  const auto entry_in = [&](const code::Ledger& ledger) {
    Entry made{
        .found = {},
        .is_certain = ledger.is_complete() && !ledger.is_empty() && ledger.listed_to() <= out,
        .is_idle = ledger.is_idle()};
    if (const auto* found = ledger.find(run)) made.found = *found;
    return made;
  };
  auto known = known_.find(key);
  if (!known) {
    context.command.known = true;
    known = known_.remember(key.first, context);
  }
  if (known->command == id) {
    const auto guard = co_await known->reading.lock();
    CAY_CO_CHECK(co_await read_on_to(who, key.first, context.command, known->ledger));
    Entry made = entry_in(known->ledger);
    if (made.found || made.is_certain) co_return made;
  }
  code::Ledger whole(run);
  CAY_CO_CHECK(co_await read_on_to(std::move(who), key.first, context.command, whole));
  co_return entry_in(whole);
}

Task<void> EvaluationSearch::read_on_to(Principal who, SandboxId sandbox, Command driver,
                                        code::Ledger& ledger) {
  const OutputOffsets to{.out = driver.out.bytes, .err = driver.err.bytes};
  if (ledger.read_to() < to.err) {
    const OutputOffsets from{.out = to.out, .err = ledger.read_to()};
    CAY_CO_TRY(Reader reader, co_await commands_.attach(who, sandbox.get(), driver.id, from));
    CAY_CO_CHECK(co_await read_ledger(std::move(reader), to.err, ledger));
  }
  const std::uint64_t listed = ledger.listed_to();
  // Behind a longer part the driver holds nothing back.
  if (listed >= to.out || to.out - listed > code::Ledger::kMostUnlisted) co_return Result<void>();
  const OutputOffsets from{.out = listed, .err = to.err};
  CAY_CO_TRY(Reader reader,
             co_await commands_.attach(std::move(who), sandbox.get(), std::move(driver.id), from));
  CAY_CO_CHECK(co_await read_unlisted(std::move(reader), to.out, ledger));
  co_return Result<void>();
}

Task<std::optional<Evaluation>> EvaluationSearch::read_in(SoughtPtr what, Context context,
                                                          Entry entry,
                                                          std::optional<ContextPlace> from,
                                                          Contexts::Patience patience,
                                                          std::string tag) {
  const auto known = known_.find(what->key);
  auto sent = known ? known->place_of(what->run) : std::nullopt;
  if (sent && sent->generation != context.generation) sent.reset();
  if (!from && !sent && !entry.found && entry.is_certain) co_return std::optional<Evaluation>();
  code::EvaluationReader::Start start{.begun = from.has_value()};
  if (from) {
    start.from = from->offset;
  } else if (entry.found) {
    start.from = entry.found->from;
  } else if (sent) {
    start.from = sent->offset;
  }
  if (entry.found) {
    start.at = entry.found->at;
    start.under_way = from && from->offset > start.at;
  }
  const OutputOffsets begin{.out = start.from, .err = context.command.err.bytes};
  CAY_CO_TRY(Reader reader, co_await commands_.attach(what->who, what->key.first.get(),
                                                      context.command.id, begin));
  const Command now = reader->command();
  const auto following = std::make_shared<Following>(std::move(reader), what->run, start);
  if (entry.found && entry.found->end) following->until = *entry.found->end;
  CAY_CO_CHECK(co_await read_on(following, has_ended(now) ? kToTheEnd : now.out.bytes));
  if (!following->events.has_begun() && !sent && !entry.found)
    co_return std::optional<Evaluation>();
  if (!following->is_over() && patience.wait.count() > 0) {
    CAY_CO_CHECK(co_await read_on_for(daemon_, following, patience));
  }
  const bool has_tag = entry.found || following->events.has_begun();
  const std::string& its_tag = entry.found ? entry.found->tag : following->events.tag();
  if (!tag.empty() && has_tag && its_tag != tag) co_return evaluation_in_use(what->run);
  Evaluation out = result_of(*following, pointer_to(entry.found), what->key.second, what->run,
                             context.generation);
  out.begun = entry.found || following->events.is_under_way() || !entry.is_certain;
  CAY_CO_TRY(out, co_await confirm(what->who, what->key, context.command.id, std::move(out)));
  co_return std::optional(std::move(out));
}

Task<Evaluation> EvaluationSearch::read(SoughtPtr what, std::optional<ContextPlace> from,
                                        Contexts::Patience patience, std::string tag) {
  for (std::size_t i = 0; i < what->all.size(); ++i) {
    const Context context = what->all[i];
    if (from && from->generation != context.generation) continue;
    CAY_CO_TRY(Entry entry, co_await entry_of(what->who, what->key, context, what->run));
    CAY_CO_TRY(auto found, co_await read_in(what, context, std::move(entry), from, patience, tag));
    if (found) co_return *std::move(found);
  }
  co_return unknown_evaluation(what->run);
}

Task<Evaluation> EvaluationSearch::confirm(Principal who, ContextKey key, CommandId driver,
                                           Evaluation read) {
  if (read.state != EvaluationState::kLost || read.driver) co_return read;
  Context context{
      .id = key.second, .language = {}, .generation = read.next.generation, .command = {}};
  CAY_CO_TRY(context.command, co_await commands_.get(who, key.first.get(), std::move(driver)));
  const bool runs = !has_ended(context.command);
  CAY_CO_TRY(const Entry entry,
             co_await entry_of(std::move(who), std::move(key), std::move(context), read.id));
  if (!entry.found) co_return read;
  if (entry.found->end) take_end(read, *entry.found);
  // The ledger comes on a pipe of its own, and may come later than the next beginning.
  else if (runs)
    read.state = EvaluationState::kRunning;
  co_return read;
}

Task<Evaluation> EvaluationSearch::outcome(SoughtPtr what) {
  bool may_wait = false;
  for (std::size_t i = 0; i < what->all.size(); ++i) {
    const Context context = what->all[i];
    CAY_CO_TRY(Entry entry, co_await entry_of(what->who, what->key, context, what->run));
    Evaluation out{.id = what->run,
                   .context = what->key.second,
                   .next = {.generation = context.generation, .offset = 0}};
    if (entry.found && (entry.found->end || !has_ended(context.command))) {
      take_end(out, *entry.found);
      co_return out;
    }
    if (i == 0) may_wait = !has_ended(context.command) && !(entry.is_certain && entry.is_idle);
    std::optional<ContextPlace> from;
    for (;;) {
      CAY_CO_TRY(auto found, co_await read_in(what, context, entry, from, {}, {}));
      if (!found) break;
      from = found->next;
      if (found->more) continue;
      found->events.clear();
      co_return *std::move(found);
    }
  }
  if (!may_wait) co_return unknown_evaluation(what->run);
  co_return Evaluation{.id = what->run, .context = what->key.second};
}

Task<JobOutput> EvaluationSearch::output_of_jobs(SoughtPtr what, std::optional<ContextPlace> from) {
  for (std::size_t i = 0; i < what->all.size(); ++i) {
    const Context context = what->all[i];
    if (from && from->generation != context.generation) continue;
    CAY_CO_TRY(const Entry entry, co_await entry_of(what->who, what->key, context, what->run));
    if (!entry.found) continue;
    JobOutput out{.next = {.generation = context.generation, .offset = 0}};
    if (!entry.found->end || !entry.found->has_jobs) co_return out;
    const code::EvaluationReader::Start start{
        .from = from ? from->offset : *entry.found->end, .under_way = true, .jobs = true};
    const OutputOffsets begin{.out = start.from, .err = context.command.err.bytes};
    CAY_CO_TRY(Reader reader, co_await commands_.attach(what->who, what->key.first.get(),
                                                        context.command.id, begin));
    const Command now = reader->command();
    const auto following = std::make_shared<Following>(std::move(reader), what->run, start);
    following->until = entry.found->jobs_end_at.value_or(kToTheEnd);
    CAY_CO_CHECK(co_await read_on(following, has_ended(now) ? kToTheEnd : now.out.bytes));
    out.more = following->events.is_full();
    out.next.offset = following->events.next();
    out.events = following->events.take_events();
    co_return out;
  }
  co_return unknown_evaluation(what->run);
}

}  // namespace cay::core
