// FakeJournal and FakeUsageStore.
#include <algorithm>

#include "core/testing/fake_store.h"

namespace cay::core::testing {

void FakeJournal::note_event(EventRecord event) { held_.push_back(std::move(event)); }

Result<void> FakeJournal::flush_events() {
  CAY_CHECK(writable());
  if (held_.empty()) return {};
  auto last = std::move(held_.back());
  held_.pop_back();
  tell(std::move(last));
  return {};
}

void FakeJournal::tell(EventRecord event) {
  held_.push_back(std::move(event));
  for (auto& held : held_) {
    held.seq = 1 + static_cast<std::uint64_t>(std::count_if(
                       journal.begin(), journal.end(),
                       [&](const EventRecord& other) { return other.tenant == held.tenant; }));
    journal.push_back(std::move(held));
  }
  held_.clear();
  if (on_events_) on_events_();
}

Result<EventPage> FakeJournal::events(const TenantId& tenant, const EventQuery& query) {
  CAY_CHECK(readable());
  EventPage page;
  for (const auto& event : journal) {
    if (event.tenant == tenant) page.last = event.seq;
  }
  const std::uint64_t pruned = pruned_through[tenant];
  page.oldest = pruned + 1;
  std::uint64_t after = query.from_oldest ? pruned : query.from_now ? page.last : query.after;
  if (after > page.last) return Error{Code::kOutOfRange, "event_ahead", "it has not happened", 0};
  if (after < pruned) {
    page.gap_begin = after + 1;
    page.gap_end = pruned;
    after = pruned;
  }
  page.next_after = page.last;
  for (const auto& event : journal) {
    if (event.tenant != tenant || event.seq <= after) continue;
    if (!query.sandbox.empty() && event.sandbox != query.sandbox &&
        event.sandbox_id.get() != query.sandbox)
      continue;
    const bool wanted =
        query.types.empty() ||
        std::any_of(query.types.begin(), query.types.end(), [&](const auto& type) {
          return type.ends_with('.') ? event.type.starts_with(type) : event.type == type;
        });
    if (!wanted) continue;
    page.items.push_back(event);
    if (page.items.size() == query.limit) {
      page.next_after = event.seq;
      break;
    }
  }
  return page;
}

Result<std::vector<OpenCommand>> FakeJournal::open_commands() {
  CAY_CHECK(readable());
  std::vector<OpenCommand> out;
  for (const auto& event : journal) {
    const auto same = [&](const OpenCommand& open) {
      return open.sandbox_id == event.sandbox_id && open.command_id == event.command_id;
    };
    if (event.type == "command.started")
      out.push_back({event.sandbox_id, event.command_id, event.at, event.trace});
    if (event.type == "command.ended") std::erase_if(out, same);
    if (event.type == "sandbox.deleted")
      std::erase_if(out, [&](const auto& open) { return open.sandbox_id == event.sandbox_id; });
  }
  return out;
}

Result<std::map<SandboxId, NoteMark>> FakeJournal::note_marks() {
  std::map<SandboxId, NoteMark> out;
  for (const auto& event : journal) {
    if (event.note.life != 0) out[event.sandbox_id] = event.note;
  }
  return out;
}

Result<bool> FakeJournal::knows_command(const TenantId& /*tenant*/, const SandboxId& sandbox,
                                        const CommandId& command, UnixMillis /*started_at*/) {
  CAY_CHECK(readable());
  const auto tells = [&](const EventRecord& event) {
    return event.sandbox_id == sandbox && event.command_id == command;
  };
  return std::any_of(journal.begin(), journal.end(), tells) ||
         std::any_of(held_.begin(), held_.end(), tells);
}

Result<UnixMillis> FakeJournal::newest_event() { return journal.empty() ? 0 : journal.back().at; }

Result<void> FakeUsageStore::put_usage(const std::vector<UsageRow>& rows_now) {
  CAY_CHECK(writable());
  for (const auto& row : rows_now) usage[row.sandbox_id] = row;
  return {};
}

Result<std::vector<UsageRow>> FakeUsageStore::usage_rows() {
  CAY_CHECK(readable());
  std::vector<UsageRow> out;
  for (const auto& [id, row] : usage) out.push_back(row);
  return out;
}

Result<void> FakeUsageStore::retire_usage(const SandboxId& sandbox) {
  CAY_CHECK(writable());
  auto node = usage.extract(sandbox);
  if (node) retired.push_back(std::move(node.mapped()));
  return {};
}

Result<UsageReport> FakeUsageStore::retired_usage(const TenantId& tenant, const UsageQuery& query) {
  CAY_CHECK(readable());
  UsageReport out;
  for (const auto& row : retired) {
    if (row.tenant == tenant) add(out, query, row.labels, {1, row.totals});
  }
  return out;
}

std::vector<std::string> FakeJournal::told() const {
  std::vector<std::string> out;
  for (const auto& event : journal) {
    std::string line = event.type + " " + event.sandbox;
    if (!event.command_id.get().empty()) line += " " + event.command_id.get();
    if (!event.state.empty()) line += " " + event.state;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace cay::core::testing
