// CommandVerbs: core::Commands over live sandboxes, and over the spools of stopped ones.
#pragma once
#include "core/command_log.h"
#include "core/jobs.h"
#include "core/tracer.h"
#include "core/verbs/commands.h"
#include "core/wake.h"

namespace cay::core {

class CommandVerbs : public Commands {
 public:
  CommandVerbs(Wake& wake, Jobs& jobs, CommandLog& log, const Tracer& tracer)
      : wake_(wake), jobs_(jobs), log_(log), tracer_(tracer) {}

  Task<void> wake(Principal who, std::string ref) override;
  Task<Command> start(Principal who, std::string ref, CommandSpec spec) override;
  Task<Reader> run(Principal who, std::string ref, CommandSpec spec) override;
  Task<Reader> attach(Principal who, std::string ref, CommandId id, OutputOffsets from) override;
  Task<void> write_stdin(Principal who, std::string ref, CommandId id, Bytes data,
                         bool more) override;
  Task<LiveCommands::Written> write_attached(Principal who, std::string ref, CommandId id,
                                             Bytes data, OutputOffsets from) override;
  Task<void> close_stdin(Principal who, std::string ref, CommandId id) override;
  Task<void> kill(Principal who, std::string ref, CommandId id, int signal) override;
  Task<void> resize(Principal who, std::string ref, CommandId id, PtySize size) override;
  Task<Command> get(Principal who, std::string ref, CommandId id) override;
  Task<std::vector<Command>> list(Principal who, std::string ref) override;
  Task<void> forget(Principal who, std::string ref, CommandId id) override;

 private:
  Task<void> admitted(std::shared_ptr<LiveSandbox> live, CommandId id);
  Task<Command> started(Held held, CommandSpec spec, std::string trace, std::string by);
  Task<Reader> run_job(Held held, CommandSpec spec, std::string trace, std::string by);
  Task<std::vector<Command>> list_unsorted(Principal who, std::string ref);
  Task<Reader> kept_reader(std::shared_ptr<Entry> entry, CommandId id, OutputOffsets from);
  Task<Command> from_spools(std::shared_ptr<Entry> entry, CommandId id);

  Wake& wake_;
  Jobs& jobs_;
  CommandLog& log_;
  const Tracer& tracer_;
};

}  // namespace cay::core
