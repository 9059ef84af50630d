// Message: one entry of a conversation with a model, in a form that no vendor owns. Each model's
// client translates it to its own wire format.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "codec/json.h"

namespace cay::agent {

struct Text {
  std::string text;
  bool operator==(const Text&) const = default;
};

// An image, a sound or a document.
struct Media {
  std::string mime;   // "image/png", "application/pdf"
  std::string bytes;  // raw, not base64
  bool operator==(const Media&) const = default;
};

// Thinking: the thoughts of a model before its answer. Its vendor wants them back unchanged, with
// `signature`.
struct Thinking {
  std::string text;
  std::string signature;  // opaque; empty: none
  bool operator==(const Thinking&) const = default;
};

using Block = std::variant<Text, Media, Thinking>;

// A model's request to run a tool. `arguments` is JSON text as the model wrote it, and may be
// malformed: parse it at use.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;
  bool operator==(const ToolCall&) const = default;
};

enum class Role : std::uint8_t { kSystem, kUser, kAssistant, kTool };

struct Message {
  Role role = Role::kUser;
  std::vector<Block> blocks{};
  std::vector<ToolCall> calls{};  // kAssistant: in the model's order
  std::string call_id{};          // kTool: the call that this message answers
  std::string tool{};             // kTool: the tool's name
  bool failed = false;            // kTool: the call was invalid or refused; the tool did not run

  // All text blocks, joined.
  std::string text() const;
  bool operator==(const Message&) const = default;

  static Message of(Role role, std::string text);
};

// A tool as a model sees it.
struct ToolSpec {
  std::string name;
  std::string description;
  codec::json::object parameters;  // a JSON schema of type "object"
};

// The tokens of one request or of many. `input` includes those read from and written to a cache.
struct Usage {
  std::uint64_t input = 0, output = 0, cache_read = 0, cache_write = 0;
  Usage& operator+=(const Usage& other);
  bool operator==(const Usage&) const = default;
};

// JSON of the thread's log and of `--json`. from_json fails kInvalidArgument (bad_message).
codec::json::object to_json(const Message& message);
Result<Message> message_from_json(const codec::json::object& value);
codec::json::object to_json(const Usage& usage);

}  // namespace cay::agent
