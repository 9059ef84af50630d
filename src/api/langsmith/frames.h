// The JSON frames of /execute/ws (protocol reference, sections 4.2 and 4.3).
#pragma once
#include <string>

#include "api/langsmith/text_stream.h"
#include "codec/fields.h"
#include "model/command.h"

namespace cay::api::langsmith {

std::string started_frame(const Command& command);
std::string output_frame(Stream stream, const TextPiece& piece);
// The end of a command in these clients' words: an exit code, or the type and the message of an
// error.
struct EndWords {
  int exit_code = 0;
  std::string error_type;  // empty: exit_code has it
  std::string message;
};
EndWords end_words(const Command& command);
// {"type":"exit"} or {"type":"error"}.
std::string end_frame(const Command& command);
std::string error_frame(std::string_view error_type, std::string_view message);

// The request that a command came by. Each has other members or other names for the same. The
// stream's lacks the members that need a way back.
enum class Transport { kWebSocket, kStream, kHttp };
Result<CommandSpec> read_execute(const codec::json::object& in, Transport transport);

// Fails kConflict (transport_mismatch) if it was started over the other one of WebSocket and SSE,
// whose offsets count differently. The command's own mark shows it, whatever this daemon has seen
// of it.
Result<void> check_transport(const Command& command, Transport transport);
inline constexpr std::string_view kTransportMismatch = "transport_mismatch";

}  // namespace cay::api::langsmith
