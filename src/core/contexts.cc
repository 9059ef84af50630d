#include "core/contexts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "async/deadline.h"
#include "core/errors.h"
#include "core/verbs/events.h"

namespace cay::core {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKeptOutput = 256 << 20;  // of a driver
constexpr Millis kEndLimit = 10s;                 // of a driver that was killed
constexpr Millis kWarmLimit = 60s;                // of the start of an interpreter
constexpr int kInterrupt = 2;                     // SIGINT

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
Error context_gone(const std::string& id, const CommandEnd& end) {
  return {Code::kNotReady, "context_gone",
          "context '" + id + "' is gone with its variables: its interpreter " + end_words(end) +
              ". Restart it to begin anew",
          0};
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

}  // namespace

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
  known_.remember(sandbox, *context);
  co_return *std::move(context);
}

Task<KnownContextPtr> ContextVerbs::known(Principal who, SandboxId sandbox, std::string id) {
  if (auto found = known_.find(ContextKey(sandbox, id))) co_return found;
  CAY_CO_TRY(auto all, co_await generations(std::move(who), sandbox.get(), std::move(id)));
  all.front().command.known = true;
  co_return known_.remember(sandbox, all.front());
}

Task<SoughtPtr> ContextVerbs::sought_by(Principal who, std::string ref, std::string id,
                                        std::string run) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  auto found =
      co_await sought(std::move(who), ContextKey(entry->row.id, std::move(id)), std::move(run));
  co_return found;
}

Task<SoughtPtr> ContextVerbs::sought(Principal who, ContextKey key, std::string run) {
  CAY_CO_CHECK(check_id(run, "an evaluation"));
  CAY_CO_TRY(auto all, co_await generations(who, key.first.get(), key.second));
  co_return std::make_shared<const Sought>(
      Sought{std::move(who), std::move(key), std::move(all), std::move(run)});
}

Task<LiveCommands::Written> ContextVerbs::write(Principal who, SandboxId sandbox,
                                                KnownContextPtr driver, EvaluationSpec spec,
                                                OutputOffsets from) {
  const auto guard = co_await driver->writing.lock();
  auto line = code::request_line(driver->language, spec);
  CAY_CO_TRY(auto done, co_await commands_.write_attached(std::move(who), sandbox.get(),
                                                          driver->command, std::move(line), from));
  if (done.written) driver->put(spec.id, {.generation = driver->generation, .offset = from.out});
  co_return std::move(done);
}

Task<Evaluation> ContextVerbs::send(Principal who, ContextKey key, KnownContextPtr driver,
                                    EvaluationSpec spec, Wait wait) {
  const std::string run = spec.id;
  const bool interrupts = spec.interrupt_on_cancel;
  const OutputOffsets from{.out = driver->read_to, .err = driver->ledger_from};
  // As a job: a request that is cut off in the middle would be a part of the next one.
  CAY_CO_TRY(auto sent, co_await jobs_.finish<LiveCommands::Written>(
                            write(who, key.first, driver, std::move(spec), from)));
  if (!sent.written && has_ended(sent.reader->command()))
    co_return context_gone(key.second, sent.reader->command().end);
  const auto following = std::make_shared<Following>(
      std::move(sent.reader), run, code::EvaluationReader::Start{.from = from.out});
  if (!sent.written && sent.written.error().reason == "stdin_closed") {
    CAY_CO_CHECK(co_await read_on_for(daemon_, following, {.wait = kEndLimit}));
    if (following->ended) co_return context_gone(key.second, following->ended->end);
  }
  if (!sent.written) co_return std::move(sent.written).error();
  OnLeaving leaving([&] {
    // One that waits for another would have that one interrupted.
    if (interrupts && following->events.has_begun())
      jobs_.spawn(interrupt(who, key.first.get(), key.second));
  });
  CAY_CO_CHECK(co_await read_on_for(daemon_, following, {.wait = wait}));
  leaving.stay();
  following->reader->detach_with_next();  // a driver does not mind who reads it
  driver->ledger_from = std::max(driver->ledger_from, following->passed_ledger);
  Evaluation out = result_of(*following, nullptr, key.second, run, driver->generation);
  CAY_CO_TRY(out, co_await search_.confirm(std::move(who), std::move(key), driver->command,
                                           std::move(out)));
  if (out.state != EvaluationState::kRunning)
    driver->read_to = std::max(driver->read_to, following->events.passed());
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
  const ContextKey key(entry->row.id, std::move(id));
  CAY_CO_TRY(const auto driver, co_await known(who, key.first, key.second));
  CAY_CO_CHECK(check_members(driver->language, spec));
  if (named && (driver->places.contains(spec.id) || driver->cold_until > 0)) {
    const Patience patience{.wait = wait};
    CAY_CO_TRY(SoughtPtr what, co_await sought(who, key, spec.id));
    auto earlier =
        co_await search_.read(std::move(what), std::nullopt, patience, code::tag_of(spec));
    if (earlier || earlier.error().reason != "unknown_evaluation") co_return earlier;
  }
  auto done = co_await send(std::move(who), key, driver, std::move(spec), wait);
  // It was forgotten as a command.
  if (!done && done.error().reason == "unknown_command") known_.drop(key);
  co_return done;
}

Task<Evaluation> ContextVerbs::evaluation(Principal who, std::string ref, std::string id,
                                          std::string run, std::optional<ContextPlace> from,
                                          Patience patience) {
  CAY_CO_TRY(SoughtPtr what,
             co_await sought_by(std::move(who), std::move(ref), std::move(id), std::move(run)));
  auto found = co_await search_.read(std::move(what), from, patience, {});
  co_return found;
}

Task<Evaluation> ContextVerbs::outcome(Principal who, std::string ref, std::string id,
                                       std::string run) {
  CAY_CO_TRY(SoughtPtr what,
             co_await sought_by(std::move(who), std::move(ref), std::move(id), std::move(run)));
  auto found = co_await search_.outcome(std::move(what));
  co_return found;
}

Task<JobOutput> ContextVerbs::output_of_jobs(Principal who, std::string ref, std::string id,
                                             std::string run, std::optional<ContextPlace> from) {
  CAY_CO_TRY(SoughtPtr what,
             co_await sought_by(std::move(who), std::move(ref), std::move(id), std::move(run)));
  auto found = co_await search_.output_of_jobs(std::move(what), from);
  co_return found;
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
  const auto following = std::make_shared<Following>(
      std::move(reader), std::string(), code::EvaluationReader::Start{.from = from.out});
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
  known_.drop(ContextKey(sandbox, id));
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
