// FakeRecords: the part of a fake runtime that keeps records of its sandboxes, whatever their
// state: finished commands, the program record and the gate's reports.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "core/ports/runtime.h"
#include "core/testing/fake_live_sandbox.h"

namespace cay::core::testing {

class FakeRecords : public Runtime {
 public:
  FakeRecords(asio::any_io_executor loop, Clock& clock) : loop_(std::move(loop)), clock_(clock) {}

  std::optional<Error> record_error;            // every record is unreadable
  std::vector<ProgramEvent> recorded_programs;  // of every sandbox; an offset is an index
  NetworkReport network_report;                 // of every sandbox
  std::vector<Decided> decided;                 // of every sandbox
  std::vector<NetworkQuestion> asked;           // of every sandbox
  std::vector<std::string> answers;             // "allow ID", "deny ID"
  std::map<SandboxId, FakeDisk> disks;
  // The disk of a sandbox, made if there is none.
  FakeDisk& disk_of(const SandboxId& id);

  Task<std::vector<Command>> stopped_commands(SandboxId id) override;
  Task<std::unique_ptr<CommandReader>> stopped_reader(SandboxId id, CommandId command,
                                                      OutputOffsets from) override;
  Task<ProgramPage> programs(SandboxId id, std::uint64_t offset, std::uint32_t limit) override;
  Task<NetworkReport> network(SandboxId id) override;
  Task<DecidedPage> decisions(SandboxId id, DecidedQuery query) override;
  Task<std::vector<NetworkQuestion>> questions(SandboxId id) override;
  Task<void> answer_question(SandboxId id, std::string question, bool allowed) override;

 protected:
  asio::any_io_executor loop_;
  Clock& clock_;
};

}  // namespace cay::core::testing
