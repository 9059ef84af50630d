// Model -> JSON, as the native API speaks it (src/api/native/openapi.json is the reference).
#pragma once
#include <string>

#include "codec/json.h"
#include "codec/kept_output.h"
#include "codec/snapshot_json.h"
#include "model/command.h"
#include "model/file.h"
#include "model/sandbox.h"

namespace cay::codec {

json::object to_json(const Limits& limits);
json::object to_json(const SandboxNetwork& network);
json::object to_json(const Sandbox& sandbox);
json::object to_json(const UsageSummary& usage);
json::object to_json(const StreamExtent& extent);
json::object to_json(const Command& command);
// Puts how and when it ended, a part of to_json(command).
void put_end(json::object& out, const Command& command);
json::value to_json(const std::optional<KeptGap>& gap);  // null: nothing is left out
json::object to_json(const FileInfo& info);
json::object to_json(const GrepMatch& match);
json::object to_json(const FileEvent& event);
// {"code","reason","message"[,"remedy"],"error_id"}: the value of "error".
json::object to_json(const Error& error, const std::string& error_id);

// Requests, as a client writes them. Absent members are left out.
json::object to_json(const SandboxSpec& spec);
json::object to_json(const SandboxPatch& patch);
json::object to_json(const CommandSpec& spec);

// `name`: text if it is valid UTF-8, else `name`_base64.
void put_bytes(json::object& out, const std::string& name, std::string_view bytes);

// "file", "directory", "symlink", "other".
std::string_view kind_text(FileKind kind);
// "created", "modified", "attributes", "deleted", "moved", "gap".
std::string_view kind_text(FileEventKind kind);
// "0644".
std::string mode_text(std::uint32_t mode);
// Strong, quoted: changes whenever inode, mtime or size does.
std::string etag(const FileInfo& info);

}  // namespace cay::codec
