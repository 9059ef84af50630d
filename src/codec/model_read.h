// JSON -> model: requests (read strictly, complaints into Fields) and answers (read leniently, for
// clients: unknown members are ignored).
#pragma once
#include "codec/fields.h"
#include "codec/json.h"
#include "codec/snapshot_json.h"
#include "model/command.h"
#include "model/file.h"
#include "model/sandbox.h"

namespace cay::codec {

// ---- requests ----

struct CreateRequest {
  SandboxSpec spec;
  bool wait = true;
  std::int64_t timeout_ms = 30'000;
};
Result<CreateRequest> read_create(const json::object& in);
// A CreateRequest with the claim in its spec.
Result<CreateRequest> read_ensure(const json::object& in);
Result<SandboxPatch> read_patch(const json::object& in);
// "policy": a policy in words, or "rules": rules one by one. As rules, "rules" is their policy's
// name.
std::optional<std::string> read_policy(Fields& fields);

struct CommandRequest {
  CommandSpec spec;
  bool wait = true;
  std::optional<std::int64_t> wait_ms;  // the longest wait; absent: to the command's end
  std::optional<std::string> stdin_bytes;
  std::uint64_t max_output_bytes = 1 << 20;
  bool close_stdin_given = false;
};
// The members of a CommandSpec alone: of the WebSocket's first frame.
void read_command_spec(Fields& fields, CommandSpec& spec, bool* close_stdin_given = nullptr);
void read_command_request(Fields& fields, CommandRequest& request);
std::optional<PtySize> read_pty_size(Fields& fields);
// Number or name; 0 when absent (kill the tree).
int read_signal(Fields& fields, std::string_view name = "signal");
// "TERM", "SIGTERM", "15". nullopt: no such signal.
std::optional<int> signal_from(std::string_view text);
// "0644" or "644".
std::optional<std::uint32_t> mode_from(std::string_view text);

// ---- answers ----

Result<Sandbox> sandbox_from(const json::value& in);
Result<Command> command_from(const json::value& in);
Result<FileInfo> file_info_from(const json::value& in);
// From {"error":{...}}. Any other text becomes kInternal and is quoted in the message.
Error error_from(std::string_view body);

std::optional<Code> code_from(std::string_view text);
std::optional<CommandState> command_state_from(std::string_view text);

}  // namespace cay::codec
