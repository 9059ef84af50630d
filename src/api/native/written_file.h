// WrittenFile: a file that a request's JSON carries, for a batch and for an upload of several.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "async/task.h"
#include "codec/fields.h"
#include "core/ports/runtime.h"

namespace cay::api::native {

struct WrittenFile {
  std::string path;
  Bytes bytes;
  core::WriteOptions options;
};

// Reads `path`, `content` or `content_base64` (at most `limit` bytes of either), and `mode`.
// Complaints go into `fields`.
WrittenFile read_written_file(codec::Fields& fields, std::size_t limit);
// The mode that the text of the member `mode` means. Complaints go into `fields`.
std::uint32_t mode_of(codec::Fields& fields, const std::string& text);

}  // namespace cay::api::native
