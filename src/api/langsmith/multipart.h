// The one multipart/form-data body that clients upload: a single part named "file" (RFC 7578),
// streamed. Strict: anything else is refused before or after the bytes, and the file is then not
// kept.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.h"

namespace cay::api::langsmith {

// The boundary of a Content-Type header; nullopt: not multipart/form-data, or a bad boundary.
std::optional<std::string> boundary_of(std::string_view content_type);

// Returns the file's bytes. Errors (kInvalidArgument, bad_multipart) come out of next(), also at
// the end when the closing delimiter is missing, so that a cut-off upload never becomes a file.
std::unique_ptr<ByteSource> multipart_file(std::string boundary, std::unique_ptr<ByteSource> body);

}  // namespace cay::api::langsmith
