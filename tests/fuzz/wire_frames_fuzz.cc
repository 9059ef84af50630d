// FrameReader: whatever the cuts, the same frames come out, and none is larger than allowed.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "wire/frame.h"

namespace {

std::vector<cay::wire::Frame> frames_of(std::string_view in, std::size_t step) {
  cay::wire::FrameReader reader;
  std::vector<cay::wire::Frame> out;
  for (std::size_t at = 0; at < in.size(); at += step) {
    reader.feed(in.substr(at, step));
    while (auto frame = reader.next()) out.push_back(*std::move(frame));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const auto whole = frames_of(in, size + 1);
  const auto pieces = frames_of(in, 1 + size % 7);
  if (whole.size() != pieces.size()) std::abort();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto& one = whole[i];
    const auto& other = pieces[i];
    if (one.payload != other.payload || one.type != other.type || one.channel != other.channel)
      std::abort();
    if (one.payload.size() > cay::wire::kMaxPayload) std::abort();
    const auto bytes = cay::wire::encode_frame(one);
    if (in.find(bytes) == std::string_view::npos) std::abort();  // nothing invented
  }
  return 0;
}
