// Messages of language servers: JSON behind a header with its length.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace cay::api::daytona {

std::string lsp_frame(const codec::json::object& message);

// Takes messages out of a server's output, which is a stream of a guest's bytes. A message of more
// than 32 MiB, and a header that names no length, fail BAD_REQUEST.
class LspFrames {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  // The content of the next message. Nothing: more bytes are needed.
  Result<std::optional<std::string>> next();
  // The bytes that were fed and belong to no message yet.
  std::size_t rest() const { return buffer_.size(); }

 private:
  std::string buffer_;
};

}  // namespace cay::api::daytona
