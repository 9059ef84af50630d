#include "core/contexts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "async/until_set.h"
#include "code/evaluation_reader.h"
#include "core/errors.h"
#include "core/verbs/events.h"

namespace cay::core {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostKnown = 1000;          // contexts
constexpr std::size_t kMostPlaces = 10'000;       // evaluations of one
constexpr std::uint64_t kKeptOutput = 256 << 20;  // of a driver
constexpr Millis kEndLimit = 10s;                 // of a driver that was killed
constexpr Millis kWarmLimit = 60s;                // of the start of an interpreter
constexpr int kInterrupt = 2;                     // SIGINT
constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

CommandId command_of(const std::string& context, std::uint32_t generation) {
  return CommandId("context." + context + "." + std::to_string(generation));
}

std::string new_context_id() {
  constexpr std::size_t kDigits = 8;
  return new_uuid().substr(0, kDigits);
}

// nullopt: the command is no context's.
std::optional<Context> context_from(Command command) {
  auto mark = code::from_mark(command.mark);
  if (!mark || command.id != command_of(mark->id, mark->generation)) return std::nullopt;
  return Context{.id = std::move(mark->id),
                 .language = std::move(mark->language),
                 .generation = mark->generation,
                 .command = std::move(command)};
}

bool has_ended(const Command& command) { return command.end.state != CommandState::kRunning; }

std::string end_words(const CommandEnd& end) {
  switch (end.state) {
    case CommandState::kExited: return "exited with code " + std::to_string(end.exit_code);
    case CommandState::kSignalled: return "died of signal " + std::to_string(end.signal);
    case CommandState::kOomKilled: return "was killed, for the sandbox's memory was full";
    case CommandState::kKilled: return "was killed (" + end.by + ")";
    case CommandState::kLost: return "was lost (" + end.reason + ")";
    case CommandState::kTimedOut:
    case CommandState::kIdleKilled:
    case CommandState::kRunning: break;
  }
  return "ended";
}

Error unknown_context(const std::string& id) {
  return {Code::kNotFound, "unknown_context",
          "no context '" + id + "' in this sandbox: create it, or list them", 0};
}
Error unknown_evaluation(const std::string& run, bool dropped) {
  return {Code::kNotFound, "unknown_evaluation",
          "no evaluation '" + run + "' in this context: " +
              (dropped ? "it never began, or its output was dropped, for there was too much"
                       : "it never began"),
          0};
}
Error context_gone(const std::string& id, const CommandEnd& end) {
  return {Code::kNotReady, "context_gone",
          "context '" + id + "' is gone with its variables: its interpreter " + end_words(end) +
              ". Restart it to begin anew",
          0};
}
Error evaluation_in_use(const std::string& run) {
  return {Code::kConflict, "evaluation_in_use",
          "evaluation '" + run + "' is one of other code: choose another id", 0};
}

Result<void> check_id(const std::string& id, const char* what) {
  if (code::is_valid_context_id(id)) return {};
  return invalid("invalid_context",
                 std::string(what) + "'s id has 1 to 64 letters, digits, '_' or '-'");
}

Result<void> check_members(const std::string& language, const EvaluationSpec& spec) {
  if (spec.fork && !code::driver_of(language)->can_fork) {
    return invalid("invalid_context",
                   "fork is for contexts of python: a context of " + language + " has none");
  }
  if (spec.input.size() > kMostInput) {
    return invalid("input_too_large", "the input of a call has at most " +
                                          std::to_string(kMostInput) + " bytes: write a file");
  }
  const bool has_any = !spec.input.empty() || spec.timeout_ms > 0;
  if (!has_any || code::driver_of(language)->is_shell) return {};
  return invalid("invalid_context", "input and a time limit are those of shells: a context of " +
                                        language + " has neither");
}

// Acts when a coroutine is cancelled while it waits, unless it stays.
class OnLeaving {
 public:
  explicit OnLeaving(std::function<void()> act) : act_(std::move(act)) {}
  ~OnLeaving() {
    if (act_) act_();
  }
  OnLeaving(const OnLeaving&) = delete;
  OnLeaving& operator=(const OnLeaving&) = delete;
  void stay() { act_ = nullptr; }

 private:
  std::function<void()> act_;
};

// A reader of a driver's output, and the events of one evaluation that it has read so far.
struct Following {
  Following(Reader source, std::string run, std::uint64_t from, bool begun)
      : reader(std::move(source)), events(std::move(run), from, begun), at(from) {}
  Reader reader;
  code::EvaluationReader events;
  std::uint64_t at;
  std::optional<Command> ended;

  bool is_over() const { return events.is_over() || ended.has_value(); }
};

using Until = Contexts::Patience::Until;

// Reads on to the evaluation's end, the driver's end or the offset `until`.
Task<void> read_on(std::shared_ptr<Following> from, std::uint64_t until, Until what = Until::kEnd) {
  while (!from->is_over() && from->at < until) {
    if (what == Until::kEvent && from->events.has_events()) break;
    CAY_CO_TRY(OutputEvent event, co_await from->reader->next());
    if (auto* end = std::get_if<OutputEnd>(&event)) {
      from->ended = std::move(end->command);
    } else if (const auto* gap = std::get_if<OutputGap>(&event)) {
      if (gap->stream != Stream::kStdout) continue;
      from->at = gap->offset + gap->length;
      from->events.gap(gap->length);
    } else if (const auto* data = std::get_if<OutputData>(&event)) {
      if (data->stream != Stream::kStdout) continue;
      from->at = data->offset + data->bytes.size();
      from->events.feed(data->bytes);
    }
  }
  co_return Result<void>();
}

asio::awaitable<void> set_when_ending(Events& daemon, Event& ends) {
  co_await daemon.until_ended();
  ends.set();
}

// The same, for at most `patience.wait`, or until the daemon ends.
Task<void> read_on_for(Events& daemon, std::shared_ptr<Following> from,
                       Contexts::Patience patience) {
  const auto loop = co_await asio::this_coro::executor;
  Event ends(loop);
  Scope watching(loop);
  watching.spawn(set_when_ending(daemon, ends));
  auto reading = read_on(from, kToTheEnd, patience.until);
  auto in_time = with_deadline(std::move(reading), patience.wait);
  auto cut_short = until_set(std::move(in_time), ends, shutting_down());
  auto read = co_await watching.until(std::move(cut_short));
  if (read || read.error().code == Code::kDeadlineExceeded) co_return Result<void>();
  if (read.error().reason == kShuttingDown && patience.until == Until::kEnd)
    co_return Result<void>();
  co_return read;
}

Evaluation result_of(Following& from, std::string context, std::string run,
                     std::uint32_t generation) {
  Evaluation out{.id = std::move(run),
                 .context = std::move(context),
                 .state = from.events.state(),
                 .events = from.events.take_events(),
                 .next = {.generation = generation, .offset = from.events.next()},
                 .more = from.events.is_full(),
                 .exit_code = from.events.exit_code(),
                 .cwd = from.events.cwd(),
                 .ended = from.events.shell_ended()};
  if (out.state == EvaluationState::kRunning && from.ended && !out.more) {
    out.state = EvaluationState::kLost;
    out.driver = std::move(from.ended);
  }
  return out;
}

}  // namespace

ContextVerbs::Known::Known(const Context& context, const asio::any_io_executor& loop)
    : generation(context.generation),
      language(context.language),
      command(context.command.id),
      read_to(context.command.out.bytes),
      cold_until(read_to),
      writing(loop) {}

void ContextVerbs::Known::follow(const Known& older) {
  if (older.generation >= generation) return;
  for (const std::string& run : older.order) put(run, older.places.at(run));
}

void ContextVerbs::Known::put(const std::string& run, ContextPlace at) {
  if (places.insert_or_assign(run, at).second) order.push_back(run);
  if (order.size() <= kMostPlaces) return;
  places.erase(order.front());
  order.pop_front();
}

ContextVerbs::KnownPtr ContextVerbs::remember(const SandboxId& sandbox, const Context& context) {
  const Key key(sandbox, context.id);
  const auto found = known_.find(key);
  if (found != known_.end()) {
    // One that was made anew under its id has nothing of the older one.
    if (context.command.known && found->second->command == context.command.id) return found->second;
    const auto made = std::make_shared<Known>(context, jobs_.loop());
    made->follow(*found->second);
    return found->second = made;
  }
  if (order_.size() >= kMostKnown) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(key);
  return known_.emplace(key, std::make_shared<Known>(context, jobs_.loop())).first->second;
}

void ContextVerbs::drop(const Key& key) {
  known_.erase(key);
  std::erase(order_, key);
}

Task<std::vector<Context>> ContextVerbs::list(Principal who, std::string ref) {
  CAY_CO_TRY(auto commands, co_await commands_.list(std::move(who), std::move(ref)));
  std::map<std::string, Context> newest;
  for (Command& command : commands) {
    auto context = context_from(std::move(command));
    if (!context) continue;
    auto [at, is_new] = newest.try_emplace(context->id, *context);
    if (!is_new && at->second.generation < context->generation) at->second = *std::move(context);
  }
  std::vector<Context> out;
  for (auto& [id, context] : newest) out.push_back(std::move(context));
  co_return out;
}

Task<std::vector<Context>> ContextVerbs::generations(Principal who, std::string ref,
                                                     std::string id) {
  CAY_CO_CHECK(check_id(id, "a context"));
  CAY_CO_TRY(auto commands, co_await commands_.list(std::move(who), std::move(ref)));
  std::vector<Context> out;
  for (Command& command : commands) {
    auto context = context_from(std::move(command));
    if (context && context->id == id) out.push_back(*std::move(context));
  }
  if (out.empty()) co_return unknown_context(id);
  std::ranges::sort(out, std::ranges::greater(), &Context::generation);
  co_return out;
}

Task<Context> ContextVerbs::get(Principal who, std::string ref, std::string id) {
  CAY_CO_TRY(auto all, co_await generations(std::move(who), std::move(ref), std::move(id)));
  co_return std::move(all.front());
}

Task<Context> ContextVerbs::create(Principal who, std::string ref, ContextSpec spec) {
  const code::Driver* driver = code::driver_of(spec.language);
  if (driver == nullptr) {
    co_return invalid("unknown_language", "contexts have no language '" +
                                              spec.language.substr(0, 60) + "': they have " +
                                              code::driver_languages());
  }
  spec.language = driver->language;
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  const std::string sandbox = entry->row.id.get();
  if (spec.id.empty()) {
    spec.id = new_context_id();
  } else {
    auto all = co_await generations(who, sandbox, spec.id);
    if (!all && all.error().reason != "unknown_context") co_return std::move(all).error();
    if (all) {
      Context& found = all->front();
      if (found.language != spec.language) {
        co_return Error{
            Code::kConflict, "context_in_use",
            "context '" + spec.id + "' is one of " + found.language + ": choose another id", 0};
      }
      if (has_ended(found.command)) co_return context_gone(spec.id, found.command.end);
      co_return std::move(found);
    }
  }
  if (code::env_size(spec.run.env) > code::kMostContextEnv) {
    co_return invalid("invalid_context", "the variables of a context have at most " +
                                             std::to_string(code::kMostContextEnv) +
                                             " bytes in all: write a file");
  }
  const bool is_warm = spec.warm;
  code::ContextMark mark{
      .id = spec.id, .generation = 1, .language = spec.language, .env = spec.run.env};
  auto made = co_await start(who, entry->row.id, std::move(mark), std::move(spec.run));
  if (!made && made.error().reason == "command_not_found") {
    co_return invalid("toolchain_missing",
                      "the sandbox lacks the program " + std::string(driver->program) +
                          ", which a context of " + std::string(driver->language) +
                          " needs: install it (Debian's package " + std::string(driver->package) +
                          "), or take an image that has it");
  }
  if (!made || !is_warm) co_return made;
  EvaluationSpec nothing;
  const std::string id = made->id;
  CAY_CO_TRY(const auto first,
             co_await evaluate(std::move(who), sandbox, id, std::move(nothing), kWarmLimit));
  if (first.driver) co_return context_gone(id, first.driver->end);
  co_return made;
}

Task<Context> ContextVerbs::start(Principal who, SandboxId sandbox, code::ContextMark mark,
                                  RunConfig run) {
  CommandSpec spec;
  spec.id = command_of(mark.id, mark.generation);
  spec.argv = code::driver_of(mark.language)->argv;
  spec.run = std::move(run);
  spec.run.env = mark.env;
  spec.ttl_ms = -1;
  spec.output_limit_bytes = kKeptOutput;
  spec.end_tree = true;
  spec.ignore_mismatch = true;  // another release's driver has another text
  spec.mark = code::to_mark(mark);
  const std::string asked = spec.mark;
  CAY_CO_TRY(Command command,
             co_await commands_.start(std::move(who), sandbox.get(), std::move(spec)));
  const std::string name = command.id.get();
  if (command.mark != asked) {
    co_return Error{Code::kConflict, "context_in_use",
                    "command '" + name +
                        "' has the id of this context's interpreter: choose "
                        "another id",
                    0};
  }
  auto context = context_from(std::move(command));
  if (!context) co_return invalid("invalid_context", "this context has no readable mark");
  remember(sandbox, *context);
  co_return *std::move(context);
}

Task<ContextVerbs::KnownPtr> ContextVerbs::known(Principal who, SandboxId sandbox, std::string id) {
  if (const auto found = known_.find(Key(sandbox, id)); found != known_.end())
    co_return found->second;
  CAY_CO_TRY(auto all, co_await generations(std::move(who), sandbox.get(), std::move(id)));
  all.front().command.known = true;
  co_return remember(sandbox, all.front());
}

Task<void> ContextVerbs::write(Principal who, SandboxId sandbox, KnownPtr driver,
                               EvaluationSpec spec, std::uint64_t from) {
  const auto guard = co_await driver->writing.lock();
  auto line = code::request_line(driver->language, spec);
  CAY_CO_CHECK(co_await commands_.write_stdin(std::move(who), sandbox.get(), driver->command,
                                              std::move(line), false));
  driver->put(spec.id, {.generation = driver->generation, .offset = from});
  co_return Result<void>();
}

Task<Evaluation> ContextVerbs::send(Principal who, Key key, KnownPtr driver, EvaluationSpec spec,
                                    Wait wait) {
  const std::string run = spec.id;
  const bool interrupts = spec.interrupt_on_cancel;
  const OutputOffsets from{.out = driver->read_to};
  CAY_CO_TRY(Reader reader, co_await commands_.attach(who, key.first.get(), driver->command, from));
  if (has_ended(reader->command())) co_return context_gone(key.second, reader->command().end);
  const auto following = std::make_shared<Following>(std::move(reader), run, from.out, false);
  // As a job: a request that is cut off in the middle would be a part of the next one.
  auto written =
      co_await jobs_.finish<void>(write(who, key.first, driver, std::move(spec), from.out));
  if (!written && written.error().reason == "stdin_closed") {
    CAY_CO_CHECK(co_await read_on_for(daemon_, following, {.wait = kEndLimit}));
    if (following->ended) co_return context_gone(key.second, following->ended->end);
  }
  if (!written) co_return std::move(written).error();
  OnLeaving leaving([&] {
    // One that waits for another would have that one interrupted.
    if (interrupts && following->events.has_begun())
      jobs_.spawn(interrupt(who, key.first.get(), key.second));
  });
  CAY_CO_CHECK(co_await read_on_for(daemon_, following, {.wait = wait}));
  leaving.stay();
  Evaluation out = result_of(*following, key.second, run, driver->generation);
  if (out.state != EvaluationState::kRunning)
    driver->read_to = std::max(driver->read_to, out.next.offset);
  co_return out;
}

Task<Evaluation> ContextVerbs::evaluate(Principal who, std::string ref, std::string id,
                                        EvaluationSpec spec, Wait wait) {
  CAY_CO_CHECK(check_id(id, "a context"));
  if (spec.code.size() > kMostCode) {
    co_return invalid("code_too_large", "the code of an evaluation has at most " +
                                            std::to_string(kMostCode) + " bytes: write a file");
  }
  const bool named = !spec.id.empty();
  if (!named) spec.id = new_uuid();
  CAY_CO_CHECK(check_id(spec.id, "an evaluation"));
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  const Key key(entry->row.id, std::move(id));
  CAY_CO_TRY(const auto driver, co_await known(who, key.first, key.second));
  CAY_CO_CHECK(check_members(driver->language, spec));
  if (named && (driver->places.contains(spec.id) || driver->cold_until > 0)) {
    Patience patience{.wait = wait};
    auto earlier = co_await find(who, key, spec.id, std::nullopt, patience, code::tag_of(spec));
    if (earlier || earlier.error().reason != "unknown_evaluation") co_return earlier;
  }
  auto done = co_await send(std::move(who), key, driver, std::move(spec), wait);
  // It was forgotten as a command.
  if (!done && done.error().reason == "unknown_command") drop(key);
  co_return done;
}

Task<Evaluation> ContextVerbs::evaluation(Principal who, std::string ref, std::string id,
                                          std::string run, std::optional<ContextPlace> from,
                                          Patience patience) {
  CAY_CO_CHECK(check_id(run, "an evaluation"));
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  Key key(entry->row.id, std::move(id));
  auto found = co_await find(std::move(who), std::move(key), std::move(run), from, patience, {});
  co_return found;
}

Task<Evaluation> ContextVerbs::find(Principal who, Key key, std::string run,
                                    std::optional<ContextPlace> from, Patience patience,
                                    std::string tag) {
  CAY_CO_TRY(const auto all, co_await generations(who, key.first.get(), key.second));
  const auto at = known_.find(key);
  std::optional<ContextPlace> sent;
  if (at != known_.end() && at->second->places.contains(run)) sent = at->second->places.at(run);
  bool dropped = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Context context = all[i];
    if (from && from->generation != context.generation) continue;
    OutputOffsets begin{.out = from ? from->offset : 0};
    bool was_sent = from.has_value();
    if (sent && sent->generation == context.generation) {
      was_sent = true;
      if (!from) begin.out = sent->offset;
    }
    CAY_CO_TRY(Reader reader,
               co_await commands_.attach(who, key.first.get(), context.command.id, begin));
    const Command now = reader->command();
    const auto following =
        std::make_shared<Following>(std::move(reader), run, begin.out, from.has_value());
    CAY_CO_CHECK(co_await read_on(following, has_ended(now) ? kToTheEnd : now.out.bytes));
    if (!following->events.has_begun() && !was_sent) {
      dropped = dropped || following->events.has_gap();
      continue;
    }
    if (!following->is_over() && patience.wait > Wait(0)) {
      CAY_CO_CHECK(co_await read_on_for(daemon_, following, patience));
    }
    if (!tag.empty() && following->events.has_begun() && following->events.tag() != tag)
      co_return evaluation_in_use(run);
    co_return result_of(*following, key.second, run, context.generation);
  }
  co_return unknown_evaluation(run, dropped);
}

Task<void> ContextVerbs::interrupt(Principal who, std::string ref, std::string id) {
  CAY_CO_TRY(const auto all, co_await generations(who, ref, id));
  const Command driver = all.front().command;
  if (has_ended(driver)) co_return context_gone(id, driver.end);
  auto sent = co_await commands_.kill(std::move(who), std::move(ref), driver.id, kInterrupt);
  co_return sent;
}

Task<void> ContextVerbs::end(Principal who, SandboxId sandbox, Command driver) {
  if (has_ended(driver)) co_return Result<void>();
  CAY_CO_CHECK(co_await commands_.kill(who, sandbox.get(), driver.id, 0));
  const OutputOffsets from{.out = driver.out.bytes, .err = driver.err.bytes};
  CAY_CO_TRY(Reader reader,
             co_await commands_.attach(std::move(who), sandbox.get(), driver.id, from));
  const auto following =
      std::make_shared<Following>(std::move(reader), std::string(), from.out, false);
  auto reading = read_on(following, kToTheEnd);
  auto read = co_await with_deadline(std::move(reading), kEndLimit, "the end of the interpreter");
  co_return read;
}

Task<void> ContextVerbs::forget(Principal who, SandboxId sandbox, std::vector<Context> all,
                                std::size_t first) {
  for (std::size_t i = first; i < all.size(); ++i) {
    CAY_CO_CHECK(co_await end(who, sandbox, all[i].command));
    auto gone = co_await commands_.forget(who, sandbox.get(), all[i].command.id);
    if (!gone && gone.error().code != Code::kNotFound) co_return std::move(gone).error();
  }
  co_return Result<void>();
}

Task<void> ContextVerbs::remove(Principal who, std::string ref, std::string id) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  const SandboxId sandbox = entry->row.id;
  CAY_CO_TRY(auto all, co_await generations(who, sandbox.get(), id));
  drop(Key(sandbox, id));
  auto gone = co_await jobs_.finish<void>(forget(std::move(who), sandbox, std::move(all), 0));
  co_return gone;
}

Task<Context> ContextVerbs::restart_job(Principal who, SandboxId sandbox,
                                        std::vector<Context> all) {
  const Context old = all.front();
  CAY_CO_CHECK(co_await end(who, sandbox, old.command));
  code::ContextMark mark{.id = old.id, .generation = old.generation + 1, .language = old.language};
  if (auto before = code::from_mark(old.command.mark)) mark.env = std::move(before->env);
  RunConfig run;
  if (!old.command.cwd.empty()) run.workdir = old.command.cwd;
  if (!old.command.user.empty()) run.user = old.command.user;
  CAY_CO_TRY(auto made, co_await start(who, sandbox, std::move(mark), std::move(run)));
  CAY_CO_CHECK(co_await forget(std::move(who), sandbox, std::move(all), 1));
  co_return made;
}

Task<Context> ContextVerbs::restart(Principal who, std::string ref, std::string id) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  const SandboxId sandbox = entry->row.id;
  CAY_CO_TRY(auto all, co_await generations(who, sandbox.get(), std::move(id)));
  auto made = co_await jobs_.finish<Context>(restart_job(std::move(who), sandbox, std::move(all)));
  co_return made;
}

}  // namespace cay::core
