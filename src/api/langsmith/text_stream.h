// TextStream: one output stream of a command as LangSmith's clients see it: valid UTF-8, offsets
// counted over that text, pieces that never split a character.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "api/langsmith/offset_index.h"
#include "codec/utf8.h"

namespace cay::api::langsmith {

struct TextPiece {
  std::uint64_t offset = 0;  // sanitised bytes before it
  std::string text;          // at most kMaxPiece bytes
};

class TextStream {
 public:
  static constexpr std::size_t kMaxPiece = 32 * 1024;  // JSON may make it six times as long

  // Raw bytes are fed from `from.raw` on; text before the sanitised offset `wanted` is left out.
  TextStream(OffsetMark from, std::uint64_t wanted)
      : raw_(from.raw), sanitised_(from.sanitised), wanted_(wanted) {}

  // `offset` is where the bytes lie in the raw stream. False: not where the last ones ended.
  bool feed(std::uint64_t offset, std::string_view bytes, std::vector<TextPiece>& out);
  // Skips `length` bytes at `offset` that are not there. A note stands in their place and takes the
  // first of their offsets. The bytes behind keep their offset, so that all readers count alike.
  // Dropped bytes count as they were, without the few U+FFFD that they would have become.
  bool skip(std::uint64_t offset, std::uint64_t length, std::vector<TextPiece>& out);
  // The end of the stream: what is held back becomes U+FFFD.
  void finish(std::vector<TextPiece>& out);
  // A place where a later reader may begin; raw 0 right after a character was held back.
  bool at_mark() const { return sanitiser_.held() == 0; }
  OffsetMark mark() const { return {raw_, sanitised_}; }

 private:
  void cut(std::string text, std::vector<TextPiece>& out);

  codec::Utf8Sanitiser sanitiser_;
  std::uint64_t raw_;
  std::uint64_t sanitised_;
  std::uint64_t wanted_;
};

}  // namespace cay::api::langsmith
