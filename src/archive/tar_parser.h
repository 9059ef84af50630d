// parse_tar: reads a stranger's archive, for a tree that is made of it.
//
// Read: v7, ustar, pax and GNU, uncompressed. Names are checked here and resolved inside the
// sandbox only. Set-user-id and set-group-id bits are not taken. It blocks as its side does.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "model/file.h"

namespace cay::archive {

struct TarLimits {
  std::uint64_t entries = 1'000'000;
  std::uint64_t bytes = 1ull << 40;  // of file contents; the disk's own limit comes first
  std::size_t path_bytes = 4095;     // PATH_MAX less the NUL
  std::size_t depth = 256;           // parts of a path
  std::size_t header_bytes =
      64 * 1024;  // of one entry's headers; what came in the same chunk is free
};

// An entry, or bytes of the file whose entry came last.
using TarEvent = std::variant<FileInfo, std::string>;

// The parser's source of bytes, and the consumer of their contents.
class ParserSide {
 public:
  virtual ~ParserSide() = default;
  virtual std::optional<std::string> pull() = 0;  // empty: the end; nullopt: nobody reads any more
  virtual bool push(TarEvent event) = 0;          // false: likewise
};

// Reads up to the end mark; what follows it is left in the source. Fails kInvalidArgument:
// malformed_tar, truncated_tar (no end mark included), unsafe_path (absolute, '..', NUL, too long,
// too deep), unsupported_entry (devices, FIFOs, hard links, sparse files), archive_too_large.
Result<void> parse_tar(ParserSide& side, TarLimits limits);

// Returns the path of an entry without "./" and trailing '/'. Fails unsafe_path.
Result<std::string> safe_entry_path(std::string_view name, const TarLimits& limits);

}  // namespace cay::archive
