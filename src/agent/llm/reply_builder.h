// ReplyBuilder: collects the pieces of an answer into a message, and reports each piece.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/llm/model.h"

namespace cay::agent {

class ReplyBuilder {
 public:
  explicit ReplyBuilder(OnDelta on_delta) : on_delta_(std::move(on_delta)) {}

  // Continues the last block if it has the same kind, and begins a block otherwise.
  void add_text(std::string_view piece);
  // A piece with a signature ends its block.
  void add_thinking(std::string_view piece, std::string_view signature = {});
  void end_thinking() { thinking_ended_ = true; }

  // Begins a call and returns its place. An empty id becomes a new one.
  Result<std::size_t> begin_call(std::string id, std::string name);
  void set_name(std::size_t place, std::string name);  // if it has none
  void set_id(std::size_t place, std::string id);      // if the server sent none so far
  void add_arguments(std::size_t place, std::string_view piece);

  const Message& message() const { return message_; }
  bool has_calls() const { return !message_.calls.empty(); }
  Usage& usage() { return usage_; }
  void set_model(std::string name) { model_ = std::move(name); }

  // `stop` as far as the server named it. A message with calls waits for their results, also where
  // the server named an end.
  ModelReply take(StopReason stop);

 private:
  void report(Delta::Kind kind, std::string_view text);

  OnDelta on_delta_;
  Message message_{.role = Role::kAssistant};
  std::vector<bool> has_own_id_;  // for each call: the server sent its id
  bool thinking_ended_ = false;
  Usage usage_;
  std::string model_;
};

// Returns an id for a call whose server sent none.
std::string new_call_id();

}  // namespace cay::agent
