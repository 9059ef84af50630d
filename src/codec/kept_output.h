// KeptOutput: the beginning and the end of a stream of output, in bounded memory. It counts the
// bytes between, and puts a note in their place.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cay::codec {

// The bytes that are left out of the middle of a stream, and the note in their place.
struct KeptGap {
  std::uint64_t offset = 0, length = 0;  // in the stream
  std::uint64_t at = 0, note_bytes = 0;  // in what is kept
};

class KeptOutput {
 public:
  // Keeps at most `most` bytes, the note included: the first half, and the end in the rest. Below
  // 256 there is no room for a note: the beginning alone is kept then.
  explicit KeptOutput(std::uint64_t most) : most_(most) {}

  // The stream's bytes and gaps come in their order, without a hole between them.
  void add(std::uint64_t offset, std::string_view bytes);
  void add_gap(std::uint64_t offset, std::uint64_t length);

  std::uint64_t held() const { return kept_.size(); }

  struct Kept {
    std::string bytes;
    std::optional<KeptGap> gap;
  };
  // One gap at most. No character of UTF-8 is cut: the gap takes all of it. Nothing is copied, for
  // these may be the largest strings of the program.
  Kept take();

 private:
  bool is_small() const;
  std::uint64_t head_room() const;
  void push(std::string_view bytes);

  std::uint64_t most_;
  std::uint64_t begin_ = 0, end_ = 0;  // of what came, in the stream
  bool begun_ = false;
  bool head_is_closed_ = false;
  std::string kept_;        // the beginning, and behind it the end
  std::size_t head_ = 0;    // how long the beginning is
  std::size_t oldest_ = 0;  // the end is a ring once `kept_` is full, and begins so far behind
};

}  // namespace cay::codec
