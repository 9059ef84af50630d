#include "core/commands.h"

#include <algorithm>
#include <tuple>

#include "core/errors.h"
#include "core/streams.h"
#include "core/validate.h"

namespace cay::core {
namespace {

// Returns whether commands are read from the spools, without waking the sandbox.
bool at_rest(const Entry& entry) { return !entry.removing() && entry.rests(); }

// A command that has no settings of its own gets the sandbox's. If the sandbox has none either, it
// gets the variables that show clients inside how secrets are used.
RunConfig usual(const Sandbox& row) {
  RunConfig of_rules;
  if (!row.proxy.empty()) of_rules.env = proxy_env(row.proxy);
  return layered(of_rules, row.run);
}

// Returns a start's error. Its keeper does not know the sandbox's name.
Error with_name(Error error, const Held& held) {
  if (error.reason == "sandbox_paused") return sandbox_paused(held.entry->row.name);
  return error;
}

Error unknown_command(const CommandId& id) {
  return {Code::kNotFound, "unknown_command",
          "no command '" + id.get() + "': it never ran here, or its keeping time is over", 0};
}

}  // namespace

Task<void> CommandVerbs::wake(Principal who, std::string ref) {
  CAY_CO_TRY(const Held held, co_await wake_.live(std::move(who), std::move(ref)));
  if (!jobs_.draining && !held.paused()) co_return Result<void>();
  const auto live = held.live;
  const auto known = co_await live->commands();
  if (!known || !known->empty())
    co_return Result<void>();  // a command can still be attached to: the next request decides
  if (jobs_.draining) co_return host_draining();
  co_return sandbox_paused(held.entry->row.name);
}

Task<Command> CommandVerbs::start(Principal who, std::string ref, CommandSpec asked) {
  CAY_CO_TRY(CommandSpec spec, checked(std::move(asked)));
  auto trace = tracer_.command(who);
  std::string by = who.key_name;
  CAY_CO_TRY(Held held, co_await wake_.live(std::move(who), std::move(ref)));
  if (jobs_.draining) {
    CAY_CO_CHECK(co_await admitted(held.live, spec.id));
  }
  spec.run = layered(usual(held.entry->row), spec.run);
  CAY_CO_CHECK(check_size(spec));
  spec.traceparent = std::move(trace.traceparent);
  // As a job: a caller that goes away meanwhile leaves a command that the journal knows of.
  auto command = co_await jobs_.finish<Command>(
      started(std::move(held), std::move(spec), std::move(trace.kept), std::move(by)));
  co_return command;
}

Task<Command> CommandVerbs::started(Held held, CommandSpec spec, std::string trace,
                                    std::string by) {
  const CommandId id = spec.id;
  jobs_.note_caller();
  spec.trace = trace;  // its keeper has it from the first moment on, the journal a little later
  log_.starting(*held.entry, id, std::move(trace), std::move(by));
  auto answer = co_await held.live->start(std::move(spec));
  log_.started(*held.entry, *held.live, id, answer);
  if (!answer) co_return with_name(std::move(answer).error(), held);
  co_return answer;
}

// While draining, a repeated start still finds its command.
Task<void> CommandVerbs::admitted(std::shared_ptr<LiveSandbox> live, CommandId id) {
  const auto known = co_await live->command(std::move(id));
  if (!known) co_return host_draining();
  co_return Result<void>();
}

Task<Reader> CommandVerbs::run(Principal who, std::string ref, CommandSpec asked) {
  CAY_CO_TRY(CommandSpec spec, checked(std::move(asked)));
  auto trace = tracer_.command(who);
  std::string by = who.key_name;
  CAY_CO_TRY(Held held, co_await wake_.live(std::move(who), std::move(ref)));
  if (jobs_.draining) {
    CAY_CO_CHECK(co_await admitted(held.live, spec.id));
  }
  spec.run = layered(usual(held.entry->row), spec.run);
  CAY_CO_CHECK(check_size(spec));
  spec.traceparent = std::move(trace.traceparent);
  // As a job. If the caller goes away between start and attach, the command still had a reader and
  // lost it. So kill_on_disconnect and the idle timeout apply.
  auto reader = co_await jobs_.finish<Reader>(
      run_job(std::move(held), std::move(spec), std::move(trace.kept), std::move(by)));
  co_return reader;
}

Task<Reader> CommandVerbs::run_job(Held held, CommandSpec spec, std::string trace, std::string by) {
  spec.reader_follows = true;
  const CommandId id = spec.id;
  jobs_.note_caller();
  spec.trace = trace;
  log_.starting(*held.entry, id, std::move(trace), std::move(by));
  auto answer = co_await held.live->start_attached(std::move(spec));
  Result<Command> begun;
  if (answer) {
    begun = answer->command;
  } else {
    begun = answer.error();
  }
  log_.started(*held.entry, *held.live, id, begun);
  if (!answer) co_return with_name(std::move(answer).error(), held);
  CAY_CO_TRY(auto reader, std::move(answer->reader));
  co_return held_reader(std::move(reader), std::move(held), std::move(answer->command));
}

Task<Reader> CommandVerbs::attach(Principal who, std::string ref, CommandId id,
                                  OutputOffsets from) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_TRY(auto entry, wake_.registry().find_served(who, ref));
  if (!at_rest(*entry)) {
    auto held = co_await wake_.live(entry, who);
    if (held) {
      auto live = held->live;
      auto reader = co_await live->attach(id, from);
      if (reader) co_return held_reader(*std::move(reader), *std::move(held));
      if (reader.error().code != Code::kNotFound) co_return std::move(reader).error();
    } else if (!at_rest(*entry)) {
      co_return std::move(held).error();
    }  // else: another wake failed, or it was stopped meanwhile. The spools can be read.
  }
  auto reader = co_await kept_reader(std::move(entry), std::move(id), from);
  co_return reader;
}

Task<Reader> CommandVerbs::kept_reader(std::shared_ptr<Entry> entry, CommandId id,
                                       OutputOffsets from) {
  auto reader = co_await entry->host->runtime.stopped_reader(entry->row.id, id, from);
  if (!reader && reader.error().code == Code::kNotFound) co_return unknown_command(id);
  co_return reader;
}

Task<LiveCommands::Written> CommandVerbs::write_attached(Principal who, std::string ref,
                                                         CommandId id, Bytes data,
                                                         OutputOffsets from) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_TRY(auto entry, wake_.registry().find_served(who, ref));
  if (!at_rest(*entry)) {
    auto held = co_await wake_.live(entry, std::move(who));
    if (held) {
      const auto live = held->live;
      const std::size_t size = data.size();
      jobs_.note_caller();
      auto done = co_await live->write_attached(id, std::move(data), from);
      if (done) {
        if (done->written) held->entry->bytes_in += size;
        done->reader = held_reader(std::move(done->reader), *std::move(held));
        co_return done;
      }
      if (done.error().code != Code::kNotFound) co_return std::move(done).error();
    } else if (!at_rest(*entry)) {
      co_return std::move(held).error();
    }
  }
  LiveCommands::Written out;
  out.written = Error{Code::kNotReady, "stdin_closed", "the sandbox is stopped", 0};
  CAY_CO_TRY(out.reader, co_await kept_reader(std::move(entry), std::move(id), from));
  co_return std::move(out);
}

Task<void> CommandVerbs::write_stdin(Principal who, std::string ref, CommandId id, Bytes data,
                                     bool more) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_TRY(const Held held, co_await wake_.live(std::move(who), std::move(ref)));
  const std::size_t size = data.size();
  auto done = co_await held.live->write_stdin(std::move(id), std::move(data), more);
  if (done) held.entry->bytes_in += size;
  co_return done;
}

Task<void> CommandVerbs::close_stdin(Principal who, std::string ref, CommandId id) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_TRY(const Held held, co_await wake_.live(std::move(who), std::move(ref)));
  auto done = co_await held.live->close_stdin(std::move(id));
  co_return done;
}

Task<void> CommandVerbs::kill(Principal who, std::string ref, CommandId id, int signal) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_CHECK(check_signal(signal));
  CAY_CO_TRY(auto entry, wake_.registry().find_served(who, ref));
  if (at_rest(*entry)) {
    // Nothing runs: waking it would not help, and a command that has ended is as killed as it gets.
    CAY_CO_TRY(const Command ended, co_await from_spools(entry, std::move(id)));
    co_return Result<void>();
  }
  CAY_CO_TRY(const Held held, co_await wake_.live(std::move(entry), std::move(who)));
  auto done = co_await held.live->kill(std::move(id), signal, "client");
  co_return done;
}

Task<void> CommandVerbs::resize(Principal who, std::string ref, CommandId id, PtySize size) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_CHECK(check_pty(size));
  CAY_CO_TRY(const Held held, co_await wake_.live(std::move(who), std::move(ref)));
  auto done = co_await held.live->resize(std::move(id), size);
  co_return done;
}

Task<Command> CommandVerbs::get(Principal who, std::string ref, CommandId id) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_TRY(auto entry, wake_.registry().find_served(who, ref));
  if (!at_rest(*entry)) {
    auto held = co_await wake_.live(entry, who);
    if (held) {
      auto command = co_await held->live->command(id);
      if (command || command.error().code != Code::kNotFound) co_return command;
    } else if (!at_rest(*entry)) {
      co_return std::move(held).error();
    }
  }
  auto command = co_await from_spools(std::move(entry), std::move(id));
  co_return command;
}

Task<Command> CommandVerbs::from_spools(std::shared_ptr<Entry> entry, CommandId id) {
  auto kept = co_await entry->host->runtime.stopped_reader(entry->row.id, id, {});
  if (!kept && kept.error().code == Code::kNotFound) co_return unknown_command(id);
  CAY_CO_TRY(const auto reader, std::move(kept));
  co_return reader->command();
}

Task<std::vector<Command>> CommandVerbs::list(Principal who, std::string ref) {
  auto all = co_await list_unsorted(std::move(who), std::move(ref));
  if (all) {
    std::ranges::sort(*all, [](const Command& one, const Command& other) {
      return std::tie(one.started_at, one.id) < std::tie(other.started_at, other.id);
    });
  }
  co_return all;
}

Task<std::vector<Command>> CommandVerbs::list_unsorted(Principal who, std::string ref) {
  CAY_CO_TRY(auto entry, wake_.registry().find_served(who, ref));
  if (!at_rest(*entry)) {
    auto held = co_await wake_.live(entry, who);
    if (held) {
      auto commands = co_await held->live->commands();
      co_return commands;
    }
    if (!at_rest(*entry)) co_return std::move(held).error();
  }
  auto stopped = co_await entry->host->runtime.stopped_commands(entry->row.id);
  co_return stopped;
}

Task<void> CommandVerbs::forget(Principal who, std::string ref, CommandId id) {
  CAY_CO_CHECK(check_command_id(id));
  CAY_CO_TRY(const Held held, co_await wake_.live(std::move(who), std::move(ref)));
  auto done = co_await held.live->forget(std::move(id));
  co_return done;
}

}  // namespace cay::core
