#include "keeper/commands.h"

#include <utility>

namespace cay::keeper {
namespace {

constexpr std::size_t kMostWaiting = 64;  // requests held back until a start is decided

}  // namespace

Commands::Commands(const CommandContext& shop, CommandIndex& index, Readers& readers,
                   std::uint32_t max_running)
    : shop_(shop), index_(index), readers_(readers), max_running_(max_running) {}

Result<void> Commands::admit(const wire::StartCommand& request) const {
  if (shutting_down_) {
    return Error{Code::kUnavailable, "shutting_down", "the sandbox is being stopped", 0};
  }
  if (request.not_after_ms > 0 && monotonic_ms() > request.not_after_ms) {
    return Error{Code::kUnavailable, "start_too_late",
                 "the sandbox was held up for so long that nobody waits for this command any more: "
                 "it was not started; retry",
                 0};
  }
  if (held_) {
    return Error{Code::kNotReady, "sandbox_paused",
                 "the sandbox is paused: resume it to run something in it", 0};
  }
  if (live_ >= max_running_) {
    return Error{Code::kExhausted, "too_many_running",
                 "too many commands run in this sandbox at once (" + std::to_string(max_running_) +
                     "): wait for some or kill them",
                 0};
  }
  if (index_.size() >= kMostKept) {
    return Error{Code::kExhausted, "too_many_commands",
                 "too many finished commands are kept: forget some or give them a shorter ttl", 0};
  }
  return {};
}

void Commands::start(wire::StartCommand request, WhenStarted action) {
  if (auto fine = admit(request); !fine) return action(nullptr, &fine.error());
  const std::string id = request.command_id;
  CommandEntry& entry = index_.add(id);
  entry.digest = request.digest;
  entry.ttl_ms = request.ttl_ms;
  entry.awaits_reader = request.reader_follows;
  entry.live = std::make_unique<Command>(shop_, *this);
  ++live_;
  ++unsettled_;
  starting_[id].push_back(std::move(action));
  auto begun = entry.live->begin(std::move(request));
  if (!begun) on_started(*entry.live, std::move(begun));
}

void Commands::when_started(const std::string& id, CommandEntry& entry, WhenStarted action) {
  const auto starting = starting_.find(id);
  if (starting == starting_.end()) return action(&entry, nullptr);
  if (starting->second.size() >= kMostWaiting) {
    const Error busy{Code::kExhausted, "too_many_requests", "the command is still being started",
                     0};
    return action(nullptr, &busy);
  }
  starting->second.push_back(std::move(action));
}

void Commands::on_started(Command& command, Result<void> result) {
  auto waiting = starting_.extract(command.id());
  if (result) {
    CommandEntry* const entry = index_.find(command.id());
    if (held_) command.clocks().pause();
    // Its reader waits for its output or its end. The word of its start goes with them, if they
    // come soon: the daemon wakes once.
    const bool is_followed = entry->awaits_reader && waiting.mapped().size() > 1;
    shop_.outbox.hurry(!is_followed);
    shop_.notes.add(command.tape()->about);
    for (auto& action : waiting.mapped()) action(entry, nullptr);
    shop_.outbox.hurry(true);
    check_hold();
    return;
  }
  --live_;
  --unsettled_;
  bury(index_.take_failed(command));
  for (auto& action : waiting.mapped()) action(nullptr, &result.error());
  check_hold();
  check_shut_down();
}

void Commands::hold(std::function<void()> when_settled) {
  held_ = true;
  when_held_ = std::move(when_settled);
  index_.each_live([](Command& command) { command.clocks().pause(); });
  shop_.loop.defer([this] { check_hold(); });
}

void Commands::let_go() {
  held_ = false;
  when_held_ = nullptr;
  index_.each_live([](Command& command) { command.clocks().resume(); });
}

void Commands::check_hold() {
  if (!held_ || !starting_.empty()) return;
  if (const auto settled = std::exchange(when_held_, nullptr)) settled();
}

void Commands::daemon_left() {
  daemon_parts();
  index_.each_live([](Command& command) { command.daemon_left(); });
}

void Commands::daemon_returned() {
  index_.each_live([](Command& command) { command.clocks().daemon_returned(); });
  index_.expiry().daemon_returned();
}

void Commands::on_output(Command& command) { readers_.on_output(command); }

void Commands::on_ended(Command& command) {
  --live_;
  shop_.notes.add(command.tape()->about);
  readers_.on_ended(command);
  index_.ended(command);
}

void Commands::on_settled(Command& command) {
  --unsettled_;
  check_shut_down();
  readers_.on_settled(command);
  bury(index_.take_settled(command));
}

void Commands::bury(std::unique_ptr<Command> command) {
  shop_.loop.defer([this, body = std::shared_ptr<Command>(std::move(command))]() mutable {
    // Once more around: what it deferred itself comes first.
    shop_.loop.defer([last = std::move(body)] {});
  });
}

void Commands::shut_down(std::int64_t patience_ms, std::function<void()> done) {
  shutting_down_ = true;
  shut_down_done_ = std::move(done);
  index_.each_live([](Command& command) {
    if (command.state() == Command::State::kStarting) return command.kill_at_start("sandbox stop");
    [[maybe_unused]] const auto killed = command.kill(0, "sandbox stop");
  });
  shop_.spawner.abort_all();
  shop_.slots.kill_all();
  shut_down_timer_ = shop_.loop.after(patience_ms, [this] {
    if (auto callback = std::exchange(shut_down_done_, nullptr)) callback();
  });
  check_shut_down();
}

void Commands::check_shut_down() {
  if (!shutting_down_ || unsettled_ > 0) return;
  shop_.loop.defer([this] {
    if (auto callback = std::exchange(shut_down_done_, nullptr)) callback();
  });
}

}  // namespace cay::keeper
