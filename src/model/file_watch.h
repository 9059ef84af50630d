// Watches of directories, as core keeps them for readers that come and go.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/file.h"

namespace cay {

struct WatchSpec {
  std::string path;
  FileAs as{};
  bool recursive = true;
  std::int64_t idle_s = 300;  // it ends when nobody has read for so long
};

struct WatchInfo {
  std::string id, path, user{};
  bool recursive = true;
  std::int64_t idle_s = 0;
  std::uint64_t first = 0, last = 0;  // events that are kept; first > last: none
  std::optional<Error> ended{};       // why it watches no more
};

struct WatchPage {
  std::vector<FileEvent> items{};
  // The events gap_begin to gap_end are kept no more: the reader came too late. 0: none is missing.
  std::uint64_t gap_begin = 0, gap_end = 0;
  std::uint64_t next_after = 0;
  std::optional<Error> ended{};  // no event comes after `items`
};

}  // namespace cay
