// Frames of wire/vault.h: a length of four bytes, the lowest first, and a message.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::wire {

std::string vault_frame(std::string_view message);

// Takes a whole frame from the front of `have`; nothing: it is not all here. kInvalidArgument
// (frame_too_large): it can be none.
Result<std::optional<std::string>> take_vault_frame(std::string& have);

}  // namespace cay::wire
