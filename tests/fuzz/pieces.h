// Cuts a target's input: single bytes around one place, where decoders go wrong, and whole before
// and after. The cost of a cut does not grow with the input, and every place comes up.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cay::fuzz {

class Pieces {
 public:
  static constexpr std::size_t kSingle = 16;

  // In one piece.
  explicit Pieces(std::string_view bytes) : rest_(bytes), single_from_(0), single_to_(0) {}
  // Cut around the place that is `where` of 256 parts into it.
  Pieces(std::string_view bytes, std::uint8_t where) : rest_(bytes) {
    const std::size_t place = bytes.size() * where / 256;
    single_from_ = place - std::min(place, kSingle / 2);
    single_to_ = std::min(bytes.size(), single_from_ + kSingle);
  }

  // The next one; empty at the end, and then only.
  std::string_view next() {
    std::size_t size = rest_.size();
    if (at_ < single_from_) {
      size = single_from_ - at_;
    } else if (at_ < single_to_) {
      size = 1;
    }
    const auto out = rest_.substr(0, size);
    rest_.remove_prefix(out.size());
    at_ += out.size();
    return out;
  }

 private:
  std::string_view rest_;
  std::size_t at_ = 0, single_from_, single_to_;
};

}  // namespace cay::fuzz
