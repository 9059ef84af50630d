// Chunked transfer coding: a byte-wise machine for sizes and trailers, copies for the data.
#include "http/chunked.h"

#include <algorithm>
#include <charconv>

namespace cay::http {

namespace {
constexpr std::size_t kMaxExtension = 256;
constexpr std::size_t kMaxTrailers = 4096;

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

void ChunkDecoder::end_of_line() {
  overhead_ = 0;
  step_ = left_ == 0 ? Step::kTrailer : Step::kData;
  trailer_line_empty_ = true;
  trailer_cr_ = false;
}

void ChunkDecoder::take(char c) {
  switch (step_) {
    case Step::kSize:
      if (const int value = hex(c); value >= 0) {
        if (++digits_ > 15) state_ = State::kBad;  // 2^60 is more than any body
        left_ = left_ * 16 + static_cast<std::uint64_t>(value);
        return;
      }
      if (digits_ == 0) {
        state_ = State::kBad;
      } else if (c == '\r') {
        step_ = Step::kSizeLf;
      } else if (c == ';' || c == ' ' || c == '\t') {
        step_ = Step::kExtension;
      } else {
        state_ = State::kBad;
      }
      return;
    case Step::kExtension:
      if (c == '\r') {
        step_ = Step::kSizeLf;
      } else if (c == '\n' || c == '\0' || ++overhead_ > kMaxExtension) {
        state_ = State::kBad;
      }
      return;
    case Step::kSizeLf:
      if (c != '\n') {
        state_ = State::kBad;
      } else {
        end_of_line();
      }
      return;
    case Step::kDataCr:
      step_ = Step::kDataLf;
      if (c != '\r') state_ = State::kBad;
      return;
    case Step::kDataLf:
      if (c != '\n') state_ = State::kBad;
      step_ = Step::kSize;
      digits_ = 0;
      left_ = 0;
      return;
    case Step::kTrailer:
      if (++overhead_ > kMaxTrailers) {
        state_ = State::kBad;
      } else if (trailer_cr_) {
        if (c != '\n') {
          state_ = State::kBad;
        } else if (trailer_line_empty_) {
          state_ = State::kDone;
        }
        trailer_cr_ = false;
        trailer_line_empty_ = true;
      } else if (c == '\r') {
        trailer_cr_ = true;
      } else if (c == '\n' || c == '\0') {
        state_ = State::kBad;
      } else {
        trailer_line_empty_ = false;
      }
      return;
    case Step::kData:
      return;
  }
}

ChunkDecoder::State ChunkDecoder::decode(std::string_view& in, std::string& out, std::size_t limit) {
  while (!in.empty() && state_ == State::kMore) {
    if (step_ != Step::kData) {
      take(in.front());
      in.remove_prefix(1);
      continue;
    }
    if (limit == 0) break;
    const auto size = std::min<std::uint64_t>({left_, in.size(), limit});
    out.append(in.substr(0, size));
    in.remove_prefix(size);
    limit -= size;
    left_ -= size;
    if (left_ == 0) step_ = Step::kDataCr;
  }
  return state_;
}

std::string chunk_head(std::size_t size) {
  char text[20];
  const auto end = std::to_chars(text, text + sizeof text, size, 16).ptr;
  return std::string(text, end) + "\r\n";
}

}  // namespace cay::http
