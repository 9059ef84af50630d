// CommandRequests: the daemon's requests about commands. Each is checked, acts on the command that
// it names once that command's start is decided, and is answered.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "keeper/command_index.h"
#include "keeper/commands.h"
#include "keeper/outbox.h"
#include "keeper/readers.h"
#include "wire/messages.h"

namespace cay::keeper {

class CommandRequests {
 public:
  CommandRequests(Outbox& outbox, CommandIndex& index, Commands& commands, Readers& readers)
      : outbox_(outbox), index_(index), commands_(commands), readers_(readers) {}

  // Starts a command, or finds the one that this request started before.
  void start(ReplyTo to, wire::StartCommand request);
  void attach(ReplyTo to, wire::Attach request);
  void write_stdin(ReplyTo to, wire::Stdin request);
  void close_stdin(ReplyTo to, const wire::CommandRef& request);
  void kill(ReplyTo to, const wire::Kill& request);
  void resize(ReplyTo to, const wire::Resize& request);
  void get(ReplyTo to, const wire::CommandRef& request);
  void forget(ReplyTo to, const wire::CommandRef& request);
  // The first command after `after` in the order of ids, or nullopt at the end. For a listing that
  // goes on as the connection takes it. Commands that are being started are left out.
  std::optional<std::pair<std::string, wire::CommandMsg>> next_after(const std::string& after);

 private:
  // Answers a start that failed at once, and the attach that follows it.
  void refuse(ReplyTo to, const wire::StartCommand& request, const Error& error);
  // Finds `id` and acts on it, now or once its start is decided.
  void with(ReplyTo to, const std::string& id,
            std::function<void(const std::string&, CommandEntry&)> action);
  void answer_command(ReplyTo to, const std::string& id, CommandEntry& entry, bool known);

  Outbox& outbox_;
  CommandIndex& index_;
  Commands& commands_;
  Readers& readers_;
  ReplyTo refused_follower_;  // the attach behind the last start that refuse() answered
  Error refusal_;             // of that start
};

}  // namespace cay::keeper
