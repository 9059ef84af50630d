// Frames between daemon, gate and broker. However the bytes are cut, the same frames come out. None
// is larger than allowed, and each is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "wire/vault.h"
#include "wire/vault_frame.h"

namespace {

struct Read {
  std::vector<std::string> frames;
  bool refused = false;
};

Read read(std::string_view in, std::size_t step) {
  Read out;
  std::string have;
  for (std::size_t at = 0; at < in.size() && !out.refused; at += step) {
    have += in.substr(at, step);
    for (;;) {
      auto frame = cay::wire::take_vault_frame(have);
      out.refused = !frame;
      if (!frame || !*frame) break;
      out.frames.push_back(**std::move(frame));
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const Read whole = read(in, size + 1);
  const Read pieces = read(in, 1 + size % 7);
  if (whole.frames != pieces.frames || whole.refused != pieces.refused) std::abort();
  std::string written;
  for (const std::string& frame : whole.frames) {
    if (frame.size() > cay::wire::kMostVaultFrame) std::abort();
    written += cay::wire::vault_frame(frame);
  }
  if (!in.starts_with(written)) std::abort();  // nothing invented, nothing left out
  return 0;
}
