// A proxy's answer in one piece and in two gives the same result and leaves the same bytes. Only
// the rejection of bytes that are no HTTP may come sooner for one of them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "gate/proxy_answer.h"

namespace {

using cay::gate::ProxyAnswer;

struct Told {
  ProxyAnswer::State state;
  unsigned status;
  std::string left;
  bool operator==(const Told&) const = default;
};

Told read(const std::string& first, const std::string& rest) {
  ProxyAnswer answer;
  std::string in = first;
  ProxyAnswer::State state = answer.read(in);
  in += rest;
  if (state == ProxyAnswer::State::kMore) state = answer.read(in);
  return {state, answer.status(), in};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t part = data[size - 1] * size / 256;
  const Told whole = read(bytes, ""), parts = read(bytes.substr(0, part), bytes.substr(part));
  const auto is_open = [](const Told& told) {
    return told.state == ProxyAnswer::State::kMore || told.state == ProxyAnswer::State::kNotHttp;
  };
  if (is_open(whole) && is_open(parts)) return 0;
  CAY_ASSERT(whole.state == parts.state && whole.status == parts.status);
  switch (whole.state) {
    case ProxyAnswer::State::kYes:
      CAY_ASSERT(whole == parts && whole.status / 100 == 2 && bytes.ends_with(whole.left));
      break;
    case ProxyAnswer::State::kNo: CAY_ASSERT(whole.status != 100 && whole.status / 100 != 2); break;
    case ProxyAnswer::State::kMore:
    case ProxyAnswer::State::kNotHttp: break;
  }
  return 0;
}
