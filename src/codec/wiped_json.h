// JSON whose values are overwritten when they go: of a request that holds a secret.
#pragma once
#include <string_view>

#include "codec/json.h"

namespace cay::codec {

// As parse_object(); nothing of what the text says is left in memory once the object is gone, nor where it is refused.
// What is copied out of it is its reader's to overwrite.
Result<json::object> parse_wiped_object(std::string_view text, Empty empty = Empty::kRefused);

}  // namespace cay::codec
