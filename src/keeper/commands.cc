#include "keeper/commands.h"

#include <algorithm>

namespace cay::keeper {
namespace {

constexpr std::size_t kMostWaiting = 64;  // requests held back until a start is decided
constexpr std::int64_t kRecallPauseMs = 100;
constexpr std::int64_t kForReader = 10'000;   // a daemon that is slow to attach still finds the end
constexpr std::size_t kRecalledAtOnce = 100;  // about 30 us each

Error not_found(const std::string& id) {
  return {Code::kNotFound, "unknown_command",
          "no command with the id \"" + id + "\" (finished ones are kept for their ttl)", 0};
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

Result<void> check(const wire::StartCommand& request) {
  const auto bad = [](std::string message) {
    return Error{Code::kInvalidArgument, "bad_command", std::move(message), 0};
  };
  if (!valid_command_id(request.command_id)) {
    return bad(
        "a command id is 1 to 128 letters, digits, '.', '_' or '-', and does not begin with a dot");
  }
  if (request.argv.empty() || request.argv.front().empty())
    return bad("argv is empty: name a program to run");
  if (request.digest.size() > 128) return bad("the digest is too long");
  if (has_nul(request.cwd) || has_nul(request.user)) return bad("cwd and user cannot contain NUL");
  for (const auto& arg : request.argv) {
    if (has_nul(arg)) return bad("arguments cannot contain NUL");
  }
  for (const auto& variable : request.env) {
    const std::size_t equals = variable.find('=');
    if (has_nul(variable) || equals == std::string::npos || equals == 0) {
      return bad("environment variables are NAME=value, without NUL");
    }
  }
  if (request.shell_line && request.argv.size() != 3)
    return bad("a shell line is a shell, -c and the line");
  return {};
}

}  // namespace

Commands::Commands(Workshop shop, Readers& readers, std::uint32_t max_running)
    : shop_(shop),
      readers_(readers),
      max_running_(max_running),
      earlier_(Tape::ids(shop.context.spool_fd)) {
  // Not now: whoever started the sandbox waits for its first command.
  if (!earlier_.empty())
    recall_timer_ = shop_.loop.after(kRecallPauseMs, [this] { recall_some(); });
}

void Commands::recall_some() {
  for (std::size_t i = 0; i < kRecalledAtOnce && !earlier_.empty(); ++i)
    recall(std::string(*earlier_.begin()));
  recall_timer_.reset();
  if (!earlier_.empty())
    recall_timer_ = shop_.loop.after(kRecallPauseMs, [this] { recall_some(); });
}

void Commands::recall(const std::string& id) {
  if (earlier_.erase(id) == 0) return;
  auto record = Tape::recall(shop_.context.spool_fd, id, shop_.context.boot_id);
  if (!record) return Tape::erase(shop_.context.spool_fd, id);
  Entry& entry = entries_[id];
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
  expire_later(id, entry, since);
}

std::map<std::string, Commands::Entry>::iterator Commands::find(const std::string& id) {
  recall(id);
  return entries_.find(id);
}

void Commands::start(ReplyTo to, wire::StartCommand request) {
  if (auto fine = check(request); !fine) return shop_.outbox.fail(to, fine.error());
  const std::string id = request.command_id;
  if (const auto found = find(id); found != entries_.end()) {
    const bool other = !found->second.digest.empty() && found->second.digest != request.digest;
    if (other && !request.ignore_mismatch) {
      return shop_.outbox.fail(
          to, Error{Code::kConflict, "command_id_in_use",
                    "the id \"" + id + "\" belongs to another command: use a new id", 0});
    }
    return with(to, id,
                [this, to, follows = request.reader_follows](const std::string& key, Entry& entry) {
                  if (follows) await_reader(key, entry);
                  answer_command(to, key, entry, true);
                });
  }
  if (shutting_down_) {
    return shop_.outbox.fail(
        to, Error{Code::kUnavailable, "shutting_down", "the sandbox is being stopped", 0});
  }
  if (request.not_after_ms > 0 && monotonic_ms() > request.not_after_ms) {
    return shop_.outbox.fail(
        to,
        Error{Code::kUnavailable, "start_too_late",
              "the sandbox was held up for so long that nobody waits for this command any more: "
              "it was not started; retry",
              0});
  }
  if (held_) {
    return shop_.outbox.fail(to,
                             Error{Code::kNotReady, "sandbox_paused",
                                   "the sandbox is paused: resume it to run something in it", 0});
  }
  if (live_ >= max_running_) {
    return shop_.outbox.fail(
        to, Error{Code::kExhausted, "too_many_running",
                  "too many commands run in this sandbox at once (" + std::to_string(max_running_) +
                      "): wait for some or kill them",
                  0});
  }
  if (entries_.size() >= kMostKept) {
    return shop_.outbox.fail(
        to,
        Error{Code::kExhausted, "too_many_commands",
              "too many finished commands are kept: forget some or give them a shorter ttl", 0});
  }
  Entry& entry = entries_[id];
  entry.digest = request.digest;
  entry.ttl_ms = request.ttl_ms;
  entry.awaits_reader = request.reader_follows;
  entry.live = std::make_unique<Command>(shop_, *this);
  ++live_;
  ++unsettled_;
  starting_[id].push_back([this, to, id](Entry* started, const Error* error) {
    if (started != nullptr) return answer_command(to, id, *started, false);
    shop_.outbox.fail(to, *error);
  });
  auto begun = entry.live->begin(std::move(request));
  if (!begun) on_started(*entry.live, std::move(begun));
}

void Commands::on_started(Command& command, Result<void> result) {
  const std::string id = command.id();
  auto waiting = starting_.extract(id);
  const auto found = entries_.find(id);
  if (result) {
    if (held_) command.stop_clocks();
    shop_.notes.add(command.tape()->about);
    for (auto& action : waiting.mapped()) action(&found->second, nullptr);
    check_hold();
    return;
  }
  --live_;
  --unsettled_;
  bury(std::move(found->second.live));
  entries_.erase(found);
  for (auto& action : waiting.mapped()) action(nullptr, &result.error());
  check_hold();
  check_shut_down();
}

// Finds `id` and acts on it, now or once its start is decided.
void Commands::with(ReplyTo to, const std::string& id,
                    std::function<void(const std::string&, Entry&)> action) {
  const auto found = find(id);
  if (found == entries_.end()) return shop_.outbox.fail(to, not_found(id));
  const auto starting = starting_.find(id);
  if (starting == starting_.end()) return action(id, found->second);
  if (starting->second.size() >= kMostWaiting) {
    return shop_.outbox.fail(
        to, Error{Code::kExhausted, "too_many_requests", "the command is still being started", 0});
  }
  starting->second.push_back(
      [this, to, id, act = std::move(action)](Entry* entry, const Error* error) {
        if (entry != nullptr) return act(id, *entry);
        shop_.outbox.fail(to, *error);
      });
}

Result<std::shared_ptr<Tape>> Commands::tape_of(const std::string& id, Entry& entry) {
  if (entry.live) return entry.live->tape();
  if (auto shared = entry.tape.lock()) return shared;
  CAY_TRY(auto tape, Tape::load(shop_.context.spool_fd, id));
  entry.tape = tape;
  return tape;
}

void Commands::answer_command(ReplyTo to, const std::string& id, Entry& entry, bool known) {
  auto tape = tape_of(id, entry);
  if (!tape) return shop_.outbox.fail(to, tape.error());
  wire::CommandMsg message = (*tape)->message();
  message.known = known;
  shop_.outbox.send(to, wire::Type::kCommand, message);
}

void Commands::attach(ReplyTo to, wire::Attach request) {
  with(to, request.command_id, [this, to, request](const std::string& id, Entry& entry) {
    auto tape = tape_of(id, entry);
    if (!tape) return shop_.outbox.fail(to, tape.error());
    readers_.attach(to, request, *std::move(tape), entry.live.get());
    if (std::exchange(entry.awaits_reader, false)) reschedule(id, entry);
  });
}

void Commands::write_stdin(ReplyTo to, wire::Stdin request) {
  const std::string id = request.command_id;
  with(to, id,
       [this, to, data = std::move(request.data), more = request.more](const std::string&,
                                                                       Entry& entry) {
         if (entry.live) return entry.live->input().write(to, data, more);
         shop_.outbox.fail(to, Error{Code::kNotReady, "stdin_closed", "the command has ended", 0});
       });
}

void Commands::close_stdin(ReplyTo to, const wire::CommandRef& request) {
  with(to, request.command_id, [this, to](const std::string&, Entry& entry) {
    if (entry.live) return entry.live->input().close_when_drained(to);
    shop_.outbox.ok(to);
  });
}

void Commands::kill(ReplyTo to, const wire::Kill& request) {
  with(to, request.command_id, [this, to, request](const std::string&, Entry& entry) {
    Result<void> done;
    if (entry.live) {
      done = entry.live->kill(static_cast<int>(std::clamp<std::int64_t>(request.signal, -1, 65)),
                              request.by);
    } else if (request.signal != 0) {
      done = Error{Code::kNotReady, "command_ended", "the command has ended", 0};
    }
    if (!done) return shop_.outbox.fail(to, done.error());
    shop_.outbox.ok(to);
  });
}

void Commands::resize(ReplyTo to, const wire::Resize& request) {
  with(to, request.command_id, [this, to, request](const std::string&, Entry& entry) {
    Result<void> done = Error{Code::kNotReady, "command_ended", "the command has ended", 0};
    if (entry.live) done = entry.live->resize(request.rows, request.cols);
    if (!done) return shop_.outbox.fail(to, done.error());
    shop_.outbox.ok(to);
  });
}

void Commands::get(ReplyTo to, const wire::CommandRef& request) {
  with(to, request.command_id,
       [this, to](const std::string& id, Entry& entry) { answer_command(to, id, entry, true); });
}

void Commands::forget(ReplyTo to, const wire::CommandRef& request) {
  const auto found = find(request.command_id);
  if (found == entries_.end()) return shop_.outbox.fail(to, not_found(request.command_id));
  if (found->second.live && found->second.live->state() != Command::State::kEnded) {
    return shop_.outbox.fail(to, Error{Code::kNotReady, "command_running",
                                       "the command still runs: kill it before forgetting it", 0});
  }
  drop(found);
  shop_.outbox.ok(to);
}

// Removes a finished command. Its pipes are still drained while children hold them: closing the
// pipes would kill these children.
void Commands::drop(std::map<std::string, Entry>::iterator entry) {
  const std::string id = entry->first;
  expiry_.erase({entry->second.expires_at, id});
  if (auto& live = entry->second.live) {
    live->abandon();
    const Command* key = live.get();
    draining_.emplace(key, std::move(live));
  } else if (auto tape = entry->second.tape.lock()) {
    tape->abandon();
  }
  entries_.erase(entry);
  shop_.spool_budget.give_back(Tape::bytes_on_disk(shop_.context.spool_fd, id));
  Tape::erase(shop_.context.spool_fd, id);
}

std::optional<std::pair<std::string, wire::CommandMsg>> Commands::next_after(
    const std::string& after) {
  while (!earlier_.empty()) recall(std::string(*earlier_.begin()));
  for (auto at = entries_.upper_bound(after); at != entries_.end(); ++at) {
    if (starting_.contains(at->first)) continue;
    auto tape = tape_of(at->first, at->second);
    if (!tape) continue;
    wire::CommandMsg message = (*tape)->message();
    message.known = true;
    return std::make_pair(at->first, std::move(message));
  }
  return std::nullopt;
}

void Commands::hold(std::function<void()> when_settled) {
  held_ = true;
  when_held_ = std::move(when_settled);
  for (auto& [id, entry] : entries_) {
    if (entry.live) entry.live->stop_clocks();
  }
  shop_.loop.defer([this] { check_hold(); });
}

void Commands::let_go() {
  held_ = false;
  when_held_ = nullptr;
  for (auto& [id, entry] : entries_) {
    if (entry.live) entry.live->run_clocks();
  }
}

void Commands::check_hold() {
  if (!held_ || !starting_.empty()) return;
  if (const auto settled = std::exchange(when_held_, nullptr)) settled();
}

std::uint32_t Commands::running() const { return live_; }

void Commands::daemon_parts() {
  daemon_here_ = false;
  expiry_timer_.reset();
  for (auto& [id, entry] : entries_) entry.awaits_reader = entry.awaits_reader || is_read(entry);
}

void Commands::daemon_left() {
  daemon_parts();
  for (auto& [id, entry] : entries_) {
    if (entry.live) entry.live->daemon_left();
  }
}

void Commands::daemon_returned() {
  daemon_here_ = true;
  for (auto& [id, entry] : entries_) {
    if (entry.live) entry.live->daemon_returned();
  }
  const std::int64_t earliest = monotonic_ms() + kForReader;
  while (!expiry_.empty() && expiry_.begin()->first < earliest) {
    const std::string id = expiry_.begin()->second;
    expiry_.erase(expiry_.begin());
    entries_.find(id)->second.expires_at = earliest;
    expiry_.emplace(earliest, id);
  }
  expire();
}

void Commands::on_output(Command& command) { readers_.on_output(command); }

void Commands::on_ended(Command& command) {
  --live_;
  shop_.notes.add(command.tape()->about);
  readers_.on_ended(command);
  const auto found = entries_.find(command.id());
  if (found != entries_.end()) expire_later(found->first, found->second, 0);
}

void Commands::on_settled(Command& command) {
  --unsettled_;
  check_shut_down();
  readers_.on_settled(command);
  if (auto drained = draining_.extract(&command); !drained.empty())
    return bury(std::move(drained.mapped()));
  Entry& entry = entries_.find(command.id())->second;
  command.tape()->close_files();
  entry.tape = command.tape();
  bury(std::move(entry.live));
}

// From a callback of its own: it is destroyed when that is over.
void Commands::bury(std::unique_ptr<Command> command) {
  shop_.loop.defer([this, body = std::shared_ptr<Command>(std::move(command))]() mutable {
    // Once more around: what it deferred itself comes first.
    shop_.loop.defer([last = std::move(body)] {});
  });
}

// `since`: how long ago it ended, in milliseconds.
void Commands::expire_later(const std::string& id, Entry& entry, std::int64_t since) {
  if (entry.ttl_ms < 0) return;
  constexpr std::int64_t kFar = std::int64_t{1} << 50;
  std::int64_t left = std::max<std::int64_t>(std::min(entry.ttl_ms, kFar) - since, 0);
  if (entry.awaits_reader) left = std::max(left, kForReader);
  entry.ended_at = monotonic_ms() - since;
  entry.expires_at = monotonic_ms() + left;
  expiry_.emplace(entry.expires_at, id);
  expire();
}

void Commands::reschedule(const std::string& id, Entry& entry) {
  if (expiry_.erase({entry.expires_at, id}) > 0)
    expire_later(id, entry, monotonic_ms() - entry.ended_at);
}

// A repeat found it: its reader comes next, as the first one's did.
void Commands::await_reader(const std::string& id, Entry& entry) {
  entry.awaits_reader = true;
  reschedule(id, entry);
}

void Commands::expire() {
  if (!daemon_here_) return;
  constexpr std::int64_t kWhileRead = 1000;
  while (!expiry_.empty() && expiry_.begin()->first <= monotonic_ms()) {
    const auto found = entries_.find(expiry_.begin()->second);
    Entry& entry = found->second;
    if (!is_read(entry)) {
      drop(found);
      continue;
    }
    expiry_.erase(expiry_.begin());
    entry.expires_at = monotonic_ms() + kWhileRead;
    expiry_.emplace(entry.expires_at, found->first);
  }
  if (expiry_.empty()) return expiry_timer_.reset();
  expiry_timer_ =
      shop_.loop.after(expiry_.begin()->first - monotonic_ms() + 1, [this] { expire(); });
}

void Commands::shut_down(std::int64_t patience_ms, std::function<void()> done) {
  shutting_down_ = true;
  shut_down_done_ = std::move(done);
  for (auto& [id, entry] : entries_) {
    if (!entry.live) continue;
    if (entry.live->state() == Command::State::kStarting) {
      entry.live->kill_at_start("sandbox stop");
      continue;
    }
    [[maybe_unused]] const auto killed = entry.live->kill(0, "sandbox stop");
  }
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
