// The content of one part of a multipart body, as the source of a file.
#pragma once
#include <memory>

#include "api/common/multipart.h"
#include "async/bytes.h"

namespace cay::api::daytona {

// Whether more parts follow that count.
enum class PartEnd { kMore, kLast };

// Returns the rest of the current part. After kLast the body is read to its end, and a body that
// was cut off fails then.
std::unique_ptr<ByteSource> part_source(std::shared_ptr<MultipartReader> parts, PartEnd end);

// Reads the current part, at most `most` bytes. Fails BAD_REQUEST beyond.
Task<std::string> read_part(std::shared_ptr<MultipartReader> parts, std::size_t most);

}  // namespace cay::api::daytona
