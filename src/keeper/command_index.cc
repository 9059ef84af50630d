#include "keeper/command_index.h"

#include <algorithm>
#include <utility>

namespace cay::keeper {
namespace {

constexpr std::int64_t kRecallPauseMs = 100;
constexpr std::size_t kRecalledAtOnce = 100;  // about 30 us each

}  // namespace

CommandIndex::CommandIndex(const CommandContext& shop)
    : shop_(shop),
      expiry_(shop.loop, entries_, [this](std::string id) { drop(std::move(id)); }),
      earlier_(Tape::ids(shop.context.spool_fd)) {
  // Not now: whoever started the sandbox waits for its first command.
  if (!earlier_.empty())
    recall_timer_ = shop_.loop.after(kRecallPauseMs, [this] { recall_some(); });
}

void CommandIndex::recall_some() {
  for (std::size_t i = 0; i < kRecalledAtOnce && !earlier_.empty(); ++i)
    recall(std::string(*earlier_.begin()));
  recall_timer_.reset();
  if (!earlier_.empty())
    recall_timer_ = shop_.loop.after(kRecallPauseMs, [this] { recall_some(); });
}

void CommandIndex::recall(const std::string& id) {
  if (earlier_.erase(id) == 0) return;
  auto record = Tape::recall(shop_.context.spool_fd, id, shop_.context.boot_id);
  if (!record) return Tape::erase(shop_.context.spool_fd, id);
  CommandEntry& entry = entries_[id];
  entry.digest = std::move(record->digest);
  entry.ttl_ms = record->ttl_ms;
  // Time that passed while the sandbox was stopped counts; when a lost one ended is not known.
  // In the same boot by a clock that nobody sets; over a boot of the host there is only the wall
  // clock.
  std::int64_t since = record->ended_at > 0 ? wall_ms() - record->ended_at : 0;
  if (record->ended_boot_ms > 0 && record->boot_id == shop_.context.boot_id)
    since = boottime_ms() - record->ended_boot_ms;
  since = std::max<std::int64_t>(since, 0);
  shop_.spool_budget.take(Tape::bytes_on_disk(shop_.context.spool_fd, id));
  expiry_.ended(id, entry, since);
}

CommandEntry* CommandIndex::find(const std::string& id) {
  recall(id);
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

CommandEntries& CommandIndex::all() {
  while (!earlier_.empty()) recall(std::string(*earlier_.begin()));
  return entries_;
}

void CommandIndex::each_live(const std::function<void(Command&)>& action) {
  for (auto& [id, entry] : entries_) {
    if (entry.live) action(*entry.live);
  }
}

Result<std::shared_ptr<Tape>> CommandIndex::tape_of(const std::string& id, CommandEntry& entry) {
  if (entry.live) return entry.live->tape();
  if (auto shared = entry.tape.lock()) return shared;
  CAY_TRY(auto tape, Tape::load(shop_.context.spool_fd, id));
  entry.tape = tape;
  return tape;
}

std::unique_ptr<Command> CommandIndex::take_failed(const Command& command) {
  return std::move(entries_.extract(command.id()).mapped().live);
}

void CommandIndex::ended(const Command& command) {
  const auto found = entries_.find(command.id());
  if (found != entries_.end()) expiry_.ended(found->first, found->second, 0);
}

std::unique_ptr<Command> CommandIndex::take_settled(const Command& command) {
  if (auto drained = draining_.extract(&command); !drained.empty())
    return std::move(drained.mapped());
  CommandEntry& entry = entries_.find(command.id())->second;
  command.tape()->close_files();
  entry.tape = command.tape();
  return std::move(entry.live);
}

void CommandIndex::drop(std::string id) {
  const auto found = entries_.find(id);
  CommandEntry& entry = found->second;
  expiry_.remove(id, entry);
  if (auto& live = entry.live) {
    live->abandon();
    const Command* key = live.get();
    draining_.emplace(key, std::move(live));
  } else if (auto tape = entry.tape.lock()) {
    tape->abandon();
  }
  entries_.erase(found);
  shop_.spool_budget.give_back(Tape::bytes_on_disk(shop_.context.spool_fd, id));
  Tape::erase(shop_.context.spool_fd, id);
}

}  // namespace cay::keeper
