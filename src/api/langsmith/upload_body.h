// The one file that a LangSmith client uploads: a multipart body with a single part named "file".
#pragma once
#include <memory>
#include <string>

#include "async/bytes.h"

namespace cay::api::langsmith {

// Returns the file's bytes. An error (kInvalidArgument, bad_multipart) may come out of the last
// next(): another part follows, or the closing delimiter is missing. The file is then not kept.
std::unique_ptr<ByteSource> upload_body(std::string boundary, std::unique_ptr<ByteSource> body);

}  // namespace cay::api::langsmith
