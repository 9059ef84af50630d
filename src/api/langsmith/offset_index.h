// OffsetIndex finds the place in the raw output that belongs to a sanitised offset. The clients
// count bytes of the UTF-8 text that they were sent. The spool counts raw bytes. The two differ
// once an invalid byte became U+FFFD. So the index keeps marks along the way, and a reconnect
// rescans from the nearest one. If a restart loses the index, a rescan takes longer. The offset is
// never wrong.
#pragma once
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/command.h"

namespace cay::api::langsmith {

struct OffsetMark {
  std::uint64_t raw = 0;  // nothing is held back by the sanitiser here
  std::uint64_t sanitised = 0;
};

class OffsetIndex {
 public:
  // A new process under `key`: what was known of an earlier one is forgotten.
  void began(const std::string& key);
  // `key` names sandbox and command. Marks closer than 1 MiB to the last one are not kept.
  void add(const std::string& key, Stream stream, OffsetMark mark);
  // The last mark at or before `sanitised`; {0,0} if there is none.
  OffsetMark find(const std::string& key, Stream stream, std::uint64_t sanitised);

 private:
  static constexpr std::uint64_t kSpacing = 1 << 20;
  static constexpr std::size_t kMaxCommands = 4096;
  struct Entry {
    std::array<std::vector<OffsetMark>, 2> marks;  // rising
    std::list<std::string>::iterator place;
  };
  Entry* touch(const std::string& key, bool make);

  std::map<std::string, Entry> entries_;
  std::list<std::string> recent_;  // most recent first
};

}  // namespace cay::api::langsmith
