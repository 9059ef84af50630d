// JSON whose values are overwritten when they go: of a request that holds a secret.
#pragma once
#include <string_view>

#include "codec/json.h"

namespace cay::codec {

// Like parse_object(). No part of the text is left in memory once the object is gone, or if the
// text is refused. Readers overwrite their own copies.
Result<json::object> parse_wiped_object(std::string_view text, Empty empty = Empty::kRefused);

}  // namespace cay::codec
