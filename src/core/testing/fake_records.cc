#include "core/testing/fake_records.h"

#include <utility>

namespace cay::core::testing {

FakeDisk& FakeRecords::disk_of(const SandboxId& id) {
  FakeDisk& disk = disks[id];
  const auto now = [clock = &clock_] { return clock->wall(); };
  if (!disk.commands) disk.commands = std::make_shared<FakeCommands>(loop_, now);
  if (!disk.files) disk.files = std::make_shared<FakeFiles>(now);
  if (!disk.upper) disk.upper = std::make_shared<FakeUpper>();
  return disk;
}

Task<std::vector<Command>> FakeRecords::stopped_commands(SandboxId id) {
  if (record_error) co_return *record_error;
  co_return disk_of(id).commands->list();
}

Task<std::unique_ptr<CommandReader>> FakeRecords::stopped_reader(SandboxId id, CommandId command,
                                                                 OutputOffsets from) {
  if (record_error) co_return *record_error;
  co_return disk_of(id).commands->attach(command, from);
}

Task<ProgramPage> FakeRecords::programs(SandboxId, std::uint64_t offset, std::uint32_t limit) {
  if (record_error) co_return *record_error;
  ProgramPage page;
  page.next_offset = offset;
  for (; page.next_offset < recorded_programs.size() && page.items.size() < limit;
       ++page.next_offset) {
    page.items.push_back(recorded_programs[page.next_offset]);
  }
  co_return page;
}

Task<NetworkReport> FakeRecords::network(SandboxId) {
  if (record_error) co_return *record_error;
  co_return network_report;
}

Task<DecidedPage> FakeRecords::decisions(SandboxId, DecidedQuery query) {
  if (record_error) co_return *record_error;
  DecidedPage page;
  page.mark = decided.size() + 1;
  page.last = decided.empty() ? 0 : decided.back().number;
  page.next_after = query.from_now ? page.last : query.from_oldest ? 0 : query.after;
  for (const Decided& one : decided) {
    if (one.number <= page.next_after || page.items.size() >= query.limit ||
        query.seen == page.mark)
      continue;
    page.items.push_back(one);
  }
  if (!page.items.empty()) page.next_after = page.items.back().number;
  co_return page;
}

Task<std::vector<NetworkQuestion>> FakeRecords::questions(SandboxId) {
  if (record_error) co_return *record_error;
  co_return asked;
}

Task<void> FakeRecords::answer_question(SandboxId, std::string question, bool allowed) {
  if (record_error) co_return *record_error;
  answers.push_back((allowed ? "allow " : "deny ") + question);
  std::erase_if(asked, [&](const NetworkQuestion& one) { return one.id == question; });
  co_return Result<void>();
}

}  // namespace cay::core::testing
