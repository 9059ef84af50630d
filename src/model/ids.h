// The names of things. All are opaque: never part of a host path unless validated by is_safe_id.
#pragma once
#include <string>
#include <string_view>

#include "base/tagged.h"

namespace cay {

using SandboxId = Tagged<struct SandboxIdTag>;    // a UUID, lower case, made by Cay
using SnapshotId = Tagged<struct SnapshotIdTag>;  // a UUID, lower case, made by Cay
using LayerId = Tagged<struct LayerIdTag>;        // a UUID, lower case, made by Cay
using VolumeId = Tagged<struct VolumeIdTag>;      // a UUID, lower case, made by Cay
using RegistryId = Tagged<struct RegistryIdTag>;  // a UUID, lower case, made by Cay
using CommandId =
    Tagged<struct CommandIdTag>;  // 1-128 of [A-Za-z0-9._-], from the client or made by Cay
using TenantId = Tagged<struct TenantIdTag>;

// A random (version 4) UUID, lower case with dashes.
std::string new_uuid();
bool is_uuid(std::string_view text);

// Command ids: 1-128 characters of [A-Za-z0-9._-], not starting with '.' or '-'.
bool is_valid_command_id(std::string_view text);

// Sandbox names: 1-63 of [A-Za-z0-9._-], starting and ending alphanumeric.
bool is_valid_name(std::string_view text);

}  // namespace cay
