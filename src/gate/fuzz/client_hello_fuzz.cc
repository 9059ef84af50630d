// ClientHello: a name is a possible one, and more bytes never change a result.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "gate/first_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::gate;
  using State = Shown::State;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Shown all = read_first_bytes(Proof::kTls, bytes);
  CAY_ASSERT((all.state == State::kName) == !all.host.empty() && all.host.size() <= 253);
  if (all.state == State::kName) CAY_ASSERT(bytes.size() > all.host.size());
  if (size == 0) return 0;
  const Shown part = read_first_bytes(Proof::kTls, bytes.substr(0, data[size - 1] * size / 256));
  if (part.state == State::kName || part.state == State::kNone)
    CAY_ASSERT(all.state == part.state && all.host == part.host);
  if (part.state == State::kOther) CAY_ASSERT(all.state == State::kOther);
  return 0;
}
