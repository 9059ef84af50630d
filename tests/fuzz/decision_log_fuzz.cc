// The gate's decision log, as the daemon and the next gate read it: whoever took the gate over
// writes what he likes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/checked_frame.h"
#include "wire/decision_log.h"

namespace {

void look(std::string_view file, std::uint64_t after, std::size_t most) {
  const auto read = cay::wire::read_decided(file, after, most);
  if (read.good > file.size() || read.items.size() > most || read.oldest > read.last) std::abort();
  std::uint64_t before = after;
  for (const auto& one : read.items) {
    if (one.number <= before || one.number > read.last ||
        one.number > cay::wire::kMostDecidedNumber)
      std::abort();
    before = one.number;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  look(bytes, 0, 100);
  if (bytes.empty()) return 0;
  // A fuzzer cannot find sums. So the input is pieces, each behind a byte for its length, and gets
  // sums here.
  std::string file(cay::wire::kDecisionLogHead);
  const std::uint64_t after = static_cast<unsigned char>(bytes.front());
  for (bytes.remove_prefix(1); !bytes.empty();) {
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(bytes.front()), bytes.size() - 1);
    cay::wire::append_checked(file, bytes.substr(1, length));
    bytes.remove_prefix(1 + length);
  }
  look(file, after, 100);
  look(file, 0, 2);
  return 0;
}
