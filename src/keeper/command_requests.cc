#include "keeper/command_requests.h"

#include <algorithm>

namespace cay::keeper {
namespace {

Error not_found(const std::string& id) {
  return {Code::kNotFound, "unknown_command",
          "no command with the id \"" + id + "\" (finished ones are kept for their ttl)", 0};
}

Error command_ended() { return {Code::kNotReady, "command_ended", "the command has ended", 0}; }

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

// Without this an attach behind a start with the id of another command would read that one.
void CommandRequests::refuse(ReplyTo to, const wire::StartCommand& request, const Error& error) {
  if (request.reader_follows) {
    refused_follower_ = {to.connection, to.channel + 1};
    refusal_ = error;
  }
  outbox_.fail(to, error);
}

void CommandRequests::start(ReplyTo to, wire::StartCommand request) {
  if (auto fine = check(request); !fine) return refuse(to, request, fine.error());
  const std::string id = request.command_id;
  if (const CommandEntry* found = index_.find(id)) {
    const bool other = !found->digest.empty() && found->digest != request.digest;
    if (other && !request.ignore_mismatch) {
      return refuse(to, request,
                    Error{Code::kConflict, "command_id_in_use",
                          "the id \"" + id + "\" belongs to another command: use a new id", 0});
    }
    return with(
        to, id,
        [this, to, follows = request.reader_follows](const std::string& key, CommandEntry& entry) {
          // Its reader comes next, as the first one's did.
          if (follows) index_.expiry().await_reader(key, entry);
          answer_command(to, key, entry, true);
        });
  }
  commands_.start(std::move(request), [this, to, id](CommandEntry* entry, const Error* error) {
    if (entry != nullptr) return answer_command(to, id, *entry, false);
    outbox_.fail(to, *error);
  });
}

void CommandRequests::with(ReplyTo to, const std::string& id,
                           std::function<void(const std::string&, CommandEntry&)> action) {
  CommandEntry* const found = index_.find(id);
  if (found == nullptr) return outbox_.fail(to, not_found(id));
  commands_.when_started(
      id, *found, [this, to, id, act = std::move(action)](CommandEntry* entry, const Error* error) {
        if (entry != nullptr) return act(id, *entry);
        outbox_.fail(to, *error);
      });
}

void CommandRequests::answer_command(ReplyTo to, const std::string& id, CommandEntry& entry,
                                     bool known) {
  auto tape = index_.tape_of(id, entry);
  if (!tape) return outbox_.fail(to, tape.error());
  wire::CommandMsg message = (*tape)->message();
  message.known = known;
  outbox_.send(to, wire::Type::kCommand, message);
}

void CommandRequests::attach(ReplyTo to, wire::Attach request) {
  if (to == refused_follower_) return outbox_.fail(to, refusal_);
  const std::string id = request.command_id;
  CommandEntry* const found = index_.find(id);
  if (found == nullptr) return outbox_.fail(to, not_found(id));
  readers_.announce(to);
  commands_.when_started(id, *found,
                         [this, to, id, request](CommandEntry* entry, const Error* error) {
                           if (!readers_.has_come(to)) return;
                           if (entry == nullptr) return outbox_.fail(to, *error);
                           auto tape = index_.tape_of(id, *entry);
                           if (!tape) return outbox_.fail(to, tape.error());
                           readers_.attach(to, request, *std::move(tape), entry->live.get());
                           index_.expiry().reader_came(id, *entry);
                         });
}

void CommandRequests::write_stdin(ReplyTo to, wire::Stdin request) {
  const std::string id = request.command_id;
  with(to, id,
       [this, to, data = std::move(request.data), more = request.more](const std::string&,
                                                                       CommandEntry& entry) {
         if (entry.live) return entry.live->input().write(to, data, more);
         outbox_.fail(to, Error{Code::kNotReady, "stdin_closed", "the command has ended", 0});
       });
}

void CommandRequests::close_stdin(ReplyTo to, const wire::CommandRef& request) {
  with(to, request.command_id, [this, to](const std::string&, CommandEntry& entry) {
    if (entry.live) return entry.live->input().close_when_drained(to);
    outbox_.ok(to);
  });
}

void CommandRequests::kill(ReplyTo to, const wire::Kill& request) {
  with(to, request.command_id, [this, to, request](const std::string&, CommandEntry& entry) {
    Result<void> done;
    if (entry.live) {
      done = entry.live->kill(static_cast<int>(std::clamp<std::int64_t>(request.signal, -1, 65)),
                              request.by);
    } else if (request.signal != 0) {
      done = command_ended();
    }
    if (!done) return outbox_.fail(to, done.error());
    outbox_.ok(to);
  });
}

void CommandRequests::resize(ReplyTo to, const wire::Resize& request) {
  with(to, request.command_id, [this, to, request](const std::string&, CommandEntry& entry) {
    Result<void> done = command_ended();
    if (entry.live) done = entry.live->resize(request.rows, request.cols);
    if (!done) return outbox_.fail(to, done.error());
    outbox_.ok(to);
  });
}

void CommandRequests::get(ReplyTo to, const wire::CommandRef& request) {
  with(to, request.command_id, [this, to](const std::string& id, CommandEntry& entry) {
    answer_command(to, id, entry, true);
  });
}

void CommandRequests::forget(ReplyTo to, const wire::CommandRef& request) {
  const CommandEntry* const found = index_.find(request.command_id);
  if (found == nullptr) return outbox_.fail(to, not_found(request.command_id));
  if (found->live && found->live->state() != Command::State::kEnded) {
    return outbox_.fail(to, Error{Code::kNotReady, "command_running",
                                  "the command still runs: kill it before forgetting it", 0});
  }
  index_.drop(request.command_id);
  outbox_.ok(to);
}

std::optional<std::pair<std::string, wire::CommandMsg>> CommandRequests::next_after(
    const std::string& after) {
  CommandEntries& entries = index_.all();
  for (auto at = entries.upper_bound(after); at != entries.end(); ++at) {
    if (at->second.is_starting()) continue;
    auto tape = index_.tape_of(at->first, at->second);
    if (!tape) continue;
    wire::CommandMsg message = (*tape)->message();
    message.known = true;
    return std::make_pair(at->first, std::move(message));
  }
  return std::nullopt;
}

}  // namespace cay::keeper
