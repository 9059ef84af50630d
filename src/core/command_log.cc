#include "core/command_log.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "async/deadline.h"
#include "core/tracer.h"

namespace cay::core {
namespace {

constexpr Millis kFlushAfter{10};  // the words of one command: its start and its end
// Commands that follow each other share one transaction for so long. Until then their keepers keep
// their notes.
constexpr Millis kFlushApart{100};
constexpr Millis kLookEvery{30'000};  // for ends whose word was lost
constexpr UnixMillis kUnsure =
    60'000;  // a start may be that much older than the newest event, untold
constexpr std::size_t kMostOpen = 10'000;  // of one sandbox; its keeper runs at most 4,096
constexpr std::size_t kMostEarly =
    1'000;  // of keepers without notes; what is not kept is looked up

// The event about a command's start; its end adds to it.
EventRecord event_about(const Entry& entry, const CommandId& id, std::string type, UnixMillis at) {
  EventRecord event = cay::event_about(entry.row, std::move(type), at);
  event.reason.clear();
  event.command_id = id;
  return event;
}

Task<void> attach(std::shared_ptr<Entry> entry, LiveSandbox::CommandHandlers handlers,
                  asio::any_io_executor loop) {
  co_await asio::post(loop, asio::use_awaitable);  // whoever changes the state goes on first
  if (entry->live) entry->live->on_commands(std::move(handlers));
  co_return Result<void>();
}

}  // namespace

CommandLog::CommandLog(std::shared_ptr<Registry> registry, Jobs& jobs)
    : registry_(std::move(registry)),
      jobs_(jobs),
      notes_(*registry_, jobs),
      wake_(std::make_shared<Event>(jobs.loop())) {}

Result<void> CommandLog::look_back() {
  CAY_TRY(const UnixMillis newest, registry_->store().newest_event());
  unsure_since_ = newest - kUnsure;
  return {};
}

Result<void> CommandLog::open() {
  CAY_TRY(const auto marks, registry_->store().note_marks());
  notes_.load(marks);
  CAY_TRY(auto commands, registry_->store().open_commands());
  for (auto& command : commands) open_[command.sandbox_id][command.command_id] = std::move(command);
  for (const auto& entry : registry_->entries()) {
    if (entry->live) {
      listen(entry);
      jobs_.spawn(catch_up(entry));
    } else if (entry->host != nullptr && (open_.contains(entry->row.id) || entry->ended_unseen)) {
      jobs_.spawn(settle(entry));
    }
  }
  return {};
}

Task<void> CommandLog::run() {
  const auto wake = wake_;
  while (!stopped_) {
    co_await wake->wait_until(deadline_in(kLookEvery));
    if (stopped_) break;
    for (const auto& entry : registry_->entries()) {
      const auto early = early_.lower_bound({entry->row.id, CommandId()});
      const bool waits = open_.contains(entry->row.id) ||
                         (early != early_.end() && early->first.first == entry->row.id);
      if (waits && entry->live) jobs_.spawn(catch_up(entry));
    }
    if (notes_.any_unconfirmed()) flush_soon();  // the store may take it now
  }
  co_return Result<void>();
}

void CommandLog::stop() {
  stopped_ = true;
  wake_->set();
  flushing_.reset();
}

void CommandLog::on_state(const std::shared_ptr<Entry>& entry) {
  if (!entry) return;
  switch (entry->row.state) {
    case SandboxState::kReady: listen(entry); break;
    case SandboxState::kStopped:
    case SandboxState::kFailed:
      if (open_.contains(entry->row.id)) jobs_.spawn(settle(entry));
      break;
    case SandboxState::kDeleting:
      open_.erase(entry->row.id);  // "sandbox.deleted" is the end of all in it
      notes_.forget(entry->row.id);
      break;
    default: break;
  }
}

// The connection is put into the entry right after its state: it is there when the job runs.
void CommandLog::listen(const std::shared_ptr<Entry>& entry) {
  LiveSandbox::CommandHandlers handlers;
  handlers.ended = [this, alive = std::weak_ptr<bool>(flushing_),
                    weak = std::weak_ptr<Entry>(entry)](const Command& command) {
    const auto of = weak.lock();
    if (!alive.expired() && of) ended(*of, command);
  };
  handlers.note = [this, alive = std::weak_ptr<bool>(flushing_),
                   weak = std::weak_ptr<Entry>(entry)](NoteMark mark, const Command& command) {
    const auto of = weak.lock();
    if (!alive.expired() && of) heard(of, mark, command);
  };
  if (entry->live) {
    entry->live->on_commands(std::move(handlers));
    return;
  }
  jobs_.spawn(attach(entry, std::move(handlers), jobs_.loop()));
}

void CommandLog::heard(const std::shared_ptr<Entry>& entry, NoteMark mark, const Command& command) {
  if (entry->erased || entry->removing()) return;  // "sandbox.deleted" will tell of all
  if (!notes_.take(entry->row.id, mark)) return flush_soon();
  if (command.end.state == CommandState::kRunning) {
    note_start(*entry, command, origin_of(*entry, command.id), mark);
  } else {
    ended(*entry, command, mark);
  }
  flush_soon();
}

void CommandLog::starting(const Entry& entry, const CommandId& id, std::string trace,
                          std::string by) {
  if (!trace.empty() || !by.empty())
    origins_[{entry.row.id, id}] = {std::move(trace), std::move(by)};
}

CommandLog::Origin CommandLog::origin_of(const Entry& entry, const CommandId& id) {
  auto node = origins_.extract({entry.row.id, id});
  return node ? std::move(node.mapped()) : Origin();
}

void CommandLog::started(const Entry& entry, const LiveSandbox& live, const CommandId& id,
                         const Result<Command>& answer) {
  Origin origin = origin_of(entry, id);
  if (!answer || entry.erased || live.keeps_notes()) return;
  const Command& command = *answer;
  if (command.known) {
    // The journal has it, unless its first answer was lost with the connection.
    if (command.started_at < registry_->clock().wall() - kUnsure) return;
    const auto known =
        registry_->store().knows_command(entry.row.tenant, entry.row.id, id, command.started_at);
    if (!known || *known) return;
  }
  note_start(entry, command, std::move(origin));
  const auto early = early_.extract({entry.row.id, id});
  if (early) ended(entry, early.mapped());
}

void CommandLog::ended(const Entry& entry, const Command& command, NoteMark mark) {
  if (entry.erased || entry.removing() || command.end.state == CommandState::kRunning) return;
  const auto box = open_.find(entry.row.id);
  const auto found = box == open_.end() ? std::map<CommandId, OpenCommand>::iterator()
                                        : box->second.find(command.id);
  if (box == open_.end() || found == box->second.end()) {
    // A note follows that of its start. So the journal has this end.
    if (mark.life == 0 && early_.size() < kMostEarly) {
      Command& early = early_[{entry.row.id, command.id}];
      early = command;
      early.argv.clear();
    }
    return;
  }
  const OpenCommand open = std::move(found->second);
  box->second.erase(found);
  if (box->second.empty()) open_.erase(box);
  if (comparing_ > 0) ended_meanwhile_.insert({entry.row.id, command.id});
  note_end(entry, command, open, mark);
}

void CommandLog::note_start(const Entry& entry, const Command& command, Origin origin,
                            NoteMark mark) {
  // A keeper runs fewer at once: what is more is made up, to fill this daemon's memory.
  if (open_[entry.row.id].size() >= kMostOpen) return;
  std::string& trace = origin.trace;
  if (trace.empty() && Tracer::is_kept(command.trace))
    trace = command.trace;  // an earlier daemon started it, and its keeper alone has the trace
  const auto fresh = open_[entry.row.id].try_emplace(
      command.id, OpenCommand{entry.row.id, command.id, command.started_at, trace});
  if (!fresh.second) return;
  if (on_started) on_started(entry, command);
  EventRecord event = event_about(entry, command.id, "command.started", command.started_at);
  event.trace = std::move(trace);
  event.by = std::move(origin.by);
  event.note = mark;
  registry_->store().note_event(std::move(event));
  flush_soon();
}

void CommandLog::note_end(const Entry& entry, const Command& command, const OpenCommand& open,
                          NoteMark mark) {
  const CommandEnd& end = command.end;
  EventRecord event = event_about(entry, command.id, "command.ended",
                                  end.ended_at != 0 ? end.ended_at : registry_->clock().wall());
  event.state = std::string(to_string(end.state));
  event.reason = end.reason;
  event.by = end.by;
  event.note = mark;
  if (end.state == CommandState::kExited) event.exit_code = end.exit_code;
  if (end.signal != 0) event.signal = end.signal;
  if (on_ended) on_ended(entry, command, open);
  registry_->store().note_event(std::move(event));
  flush_soon();
}

// Compares the keeper's commands with the journal.
Task<void> CommandLog::catch_up(std::shared_ptr<Entry> entry) {
  const auto live = entry->live;
  if (!live) co_return Result<void>();
  std::set<CommandId> open_before;
  if (const auto box = open_.find(entry->row.id); box != open_.end()) {
    for (const auto& [id, command] : box->second) open_before.insert(id);
  }
  ++comparing_;
  auto found = co_await live->commands();
  if (found && !entry->erased && entry->live == live) compare(*entry, open_before, *found);
  if (--comparing_ == 0) ended_meanwhile_.clear();
  const bool is_gone =
      !found && (found.error().code == Code::kLost || entry->removing() || entry->erased);
  if (!found && !is_gone) co_return std::move(found).error();
  co_return Result<void>();
}

// It runs no more: its records are final.
Task<void> CommandLog::settle(std::shared_ptr<Entry> entry) {
  std::set<CommandId> open_before;
  if (const auto box = open_.find(entry->row.id); box != open_.end()) {
    for (const auto& [id, command] : box->second) open_before.insert(id);
  }
  auto found = co_await entry->host->runtime.stopped_commands(entry->row.id);
  if (!found) co_return std::move(found).error();
  if (!entry->erased && !entry->live) compare(*entry, open_before, *found);
  co_return Result<void>();
}

void CommandLog::compare(const Entry& entry, const std::set<CommandId>& open_before,
                         const std::vector<Command>& found) {
  std::set<CommandId> unseen = open_before;
  for (const Command& command : found) {
    unseen.erase(command.id);
    const auto box = open_.find(entry.row.id);
    const bool is_open = box != open_.end() && box->second.contains(command.id);
    const bool runs = command.end.state == CommandState::kRunning;
    if (is_open) {
      if (!runs) ended(entry, command);
      continue;
    }
    if (entry.live && entry.live->keeps_notes()) continue;  // its note comes, or came
    if (ended_meanwhile_.contains({entry.row.id, command.id}) || command.started_at < unsure_since_)
      continue;
    const auto known = registry_->store().knows_command(entry.row.tenant, entry.row.id, command.id,
                                                        command.started_at);
    if (!known || *known) continue;
    early_.erase({entry.row.id, command.id});
    note_start(entry, command, {});
    if (!runs) ended(entry, command);
  }
  for (const CommandId& id : unseen) {
    Command gone;
    gone.id = id;
    gone.end.state = CommandState::kLost;
    gone.end.reason = "its record was gone before its end was seen";
    ended(entry, gone);
  }
}

void CommandLog::flush_soon() {
  if (stopped_ || *flushing_) return;
  *flushing_ = true;
  const auto at = std::max(deadline_in(kFlushAfter), flushed_ + kFlushApart);
  jobs_.spawn(flush_job(this, registry_, wake_, flushing_, at));
}

Task<void> CommandLog::flush_job(CommandLog* log, std::shared_ptr<Registry> registry,
                                 std::shared_ptr<Event> wake, std::weak_ptr<bool> flushing,
                                 Event::Deadline at) {
  co_await wake->wait_until(at);
  const auto ours = flushing.lock();
  if (!ours) co_return Result<void>();  // the core closes, and writes what is left itself
  *ours = false;
  log->flushed_ = std::chrono::steady_clock::now();
  auto flushed = registry->store().flush_events();
  if (flushed) log->notes_.confirm_all();  // `ours` shows that the log still exists
  co_return flushed;
}

}  // namespace cay::core
