// parse_tar: libarchive's tar reader between a source of bytes and a consumer of entries. It blocks
// as its side does.
#pragma once
#include <optional>

#include "api/common/tar.h"

namespace cay::api {

// The parser's source of bytes, and the consumer of their contents.
class ParserSide {
 public:
  virtual ~ParserSide() = default;
  virtual std::optional<Bytes> pull() = 0;       // empty: the end; nullopt: nobody reads any more
  virtual bool push(core::TreeEvent event) = 0;  // false: likewise
};

// Up to the end mark; what follows it is left in the source.
Result<void> parse_tar(ParserSide& side, TarLimits limits);

}  // namespace cay::api
