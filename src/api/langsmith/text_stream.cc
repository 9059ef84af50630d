#include "api/langsmith/text_stream.h"

#include <algorithm>

namespace cay::api::langsmith {

bool TextStream::feed(std::uint64_t offset, std::string_view bytes, std::vector<TextPiece>& out) {
  if (offset != raw_) return false;
  std::string text;
  sanitiser_.feed(bytes, text);
  raw_ += bytes.size();
  cut(std::move(text), out);
  return true;
}

namespace {

// At most `dropped` bytes long.
std::string note_of(std::uint64_t dropped) {
  const std::string bytes = std::to_string(dropped) + " bytes of output were dropped here";
  for (const std::string& note : {"\n[cay: " + bytes + ": the command wrote more than is kept]\n",
                                  "[" + bytes + "]", std::string("[...]")}) {
    if (note.size() <= dropped) return note;
  }
  return std::string(static_cast<std::size_t>(dropped), '.');
}

}  // namespace

bool TextStream::skip(std::uint64_t offset, std::uint64_t length, std::vector<TextPiece>& out) {
  if (offset != raw_) return false;
  finish(out);  // a character whose rest was dropped
  const std::uint64_t after = sanitised_ + length;
  if (after > wanted_) {
    // Also for a reader that comes back in the midst of it, who had those bytes before they were
    // dropped.
    sanitised_ = std::max(sanitised_, wanted_);
    cut(note_of(after - sanitised_), out);
  }
  sanitised_ = after;
  raw_ += length;
  return true;
}

void TextStream::finish(std::vector<TextPiece>& out) {
  std::string text;
  sanitiser_.finish(text);
  cut(std::move(text), out);
}

void TextStream::cut(std::string text, std::vector<TextPiece>& out) {
  std::size_t at = 0;
  if (sanitised_ < wanted_) {
    const auto skip = std::min<std::uint64_t>(wanted_ - sanitised_, text.size());
    // An offset inside a character (a broken client) begins at the next boundary.
    at = codec::next_boundary(text, static_cast<std::size_t>(skip));
  }
  while (at < text.size()) {
    std::size_t end = text.size();
    if (end - at > kMaxPiece) end = codec::previous_boundary(text, at + kMaxPiece);
    out.push_back({sanitised_ + at, text.substr(at, end - at)});
    at = end;
  }
  sanitised_ += text.size();
}

}  // namespace cay::api::langsmith
