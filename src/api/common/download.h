// Serving a file of a sandbox over GET and HEAD: ranges, tags, conditions.
#pragma once
#include <string>

#include "api/common/answer.h"
#include "core/cay.h"
#include "model/file.h"

namespace cay::api {

struct FilePlace {
  std::string ref;
  std::string path;
  FileAs as;
};

// How a facade answers a range past the end.
using RangeError = std::function<http::Response(std::uint64_t size)>;

// GET. Fails (before anything is answered) as Files::read does; directories: kInvalidArgument
// is_a_directory.
Task<void> serve_file(core::Cay& cay, ExchangePtr exchange, FilePlace place,
                      RangeError range_error);
// HEAD as it is without a word of its own: the status and head that serve_file would answer, and
// its failures.
Task<void> serve_head(core::Cay& cay, ExchangePtr exchange, FilePlace place);
// HEAD as facts of whatever is there, also of what cannot be read. `follow` false: of a symlink
// itself.
Task<void> serve_stat(core::Cay& cay, ExchangePtr exchange, FilePlace place, bool follow);

http::Headers file_headers(const FileInfo& info);

}  // namespace cay::api
