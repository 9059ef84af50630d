// Between the model and the keeper's messages. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/ports/live_sandbox.h"
#include "model/command.h"
#include "model/file.h"
#include "wire/messages.h"

namespace cay::runtime {

// Returns true if a keeper of ours may have sent it: a name that a command can have, and texts of
// bounded length. They are kept and shown under that name.
bool is_plausible(const wire::CommandMsg& message);
Command to_model(wire::CommandMsg message);
FileInfo to_model(const wire::FileInfoMsg& message);
wire::FileInfoMsg to_wire(const FileInfo& info);
// nullopt: of no kind that a layer has.
std::optional<core::LayerEntry> to_model(const wire::LayerEntryMsg& message);
wire::LayerEntryMsg to_wire(const core::LayerEntry& entry);
core::SandboxStats to_model(const wire::StatsMsg& message);

// Makes the frame of a start. `spec.run` is complete but for PATH and LANG. Its digest is SHA-256,
// in hex, of the encoded request without id, digest, ignore_mismatch and those two defaults. So it
// is the digest of the caller's request alone.
wire::StartCommand to_wire(const CommandSpec& spec);

}  // namespace cay::runtime
