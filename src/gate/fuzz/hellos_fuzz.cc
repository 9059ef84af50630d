// The server's first answer and the next ClientHello: more bytes never change a result.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "gate/first_answer.h"
#include "gate/first_bytes.h"

namespace {

using namespace cay::gate;

void expect_same(FirstAnswer (*read)(std::string_view), std::string_view bytes, std::size_t part) {
  const FirstAnswer early = read(bytes.substr(0, part));
  if (early != FirstAnswer::kMore) CAY_ASSERT(read(bytes) == early);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t part = data[size - 1] * size / 256;
  expect_same(read_http_answer, bytes, part);
  expect_same(read_server_hello, bytes, part);
  const Shown all = read_next_hello(bytes);
  CAY_ASSERT((all.state == Shown::State::kName) == !all.host.empty());
  const bool whole = all.state == Shown::State::kName || all.state == Shown::State::kNone;
  CAY_ASSERT(whole == (all.size > 0) && all.size <= size);
  // The size is exact: one byte less is not enough.
  if (whole)
    CAY_ASSERT(read_next_hello(bytes.substr(0, all.size)).host == all.host &&
               read_next_hello(bytes.substr(0, all.size - 1)).state == Shown::State::kMore);
  const Shown early = read_next_hello(bytes.substr(0, part));
  if (early.state == Shown::State::kName || early.state == Shown::State::kNone)
    CAY_ASSERT(all.host == early.host && all.size == early.size);
  if (early.state == Shown::State::kOther) CAY_ASSERT(all.state == Shown::State::kOther);
  return 0;
}
