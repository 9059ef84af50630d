// MultipartReader: reads a multipart/form-data body (RFC 7578) part by part, streamed and in
// bounded memory. It is strict: a body that is cut off or malformed is an error, so that it never
// becomes a file.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.h"

namespace cay::http {

struct Part {
  std::string name;
  // As the client sent it: it may hold "/" and "..". No filename: the part is a field.
  std::optional<std::string> filename;
  std::string content_type = "text/plain";
};

struct MultipartLimits {
  std::size_t parts = 1000;
  std::size_t head = 16 * 1024;  // bytes of one part's headers
};

class MultipartReader {
 public:
  // `boundary` is that of boundary_of().
  MultipartReader(std::string boundary, std::unique_ptr<ByteSource> body,
                  MultipartLimits limits = {});

  // Passes over what is left of the current part, and returns the head of the next one. Returns
  // nothing after the closing delimiter, when the body has come to its end.
  // Fails: kInvalidArgument (bad_multipart), and as the body does. An error is final.
  Task<std::optional<Part>> next_part();
  // Returns a piece of the current part's content, empty at its end. Fails as next_part().
  Task<Bytes> next();

 private:
  enum class At { kPreamble, kContent, kDelimiter, kEnd };
  Task<void> more(const char* at_end);
  Task<void> pass_preamble();
  Task<bool> pass_delimiter();
  Task<Part> pass_head();

  std::string delimiter_;  // with the line end before it
  std::unique_ptr<ByteSource> body_;
  MultipartLimits limits_;
  std::string buffer_;  // at most a chunk of the body, and a head or a delimiter
  std::size_t parts_ = 0;
  At at_ = At::kPreamble;
};

// Returns the boundary of a Content-Type header. Nothing: not multipart/form-data, or a bad
// boundary.
std::optional<std::string> boundary_of(std::string_view content_type);

// Reads the headers of a part, without the empty line behind them. A name and a filename may be a
// token, a quoted string with \" and \\, or UTF-8 in the form of RFC 5987 (filename*), which wins.
// Percent-encoding in a quoted string stays as it is. Nothing: malformed, or without a name.
std::optional<Part> parse_part_head(std::string_view head);

}  // namespace cay::http
