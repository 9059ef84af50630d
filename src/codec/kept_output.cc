#include "codec/kept_output.h"

#include <algorithm>
#include <utility>

#include "codec/utf8.h"

namespace cay::codec {
namespace {

constexpr std::uint64_t kLeastForNote = 256;

std::string note_of(std::uint64_t length) {
  return "\n[cay: " + std::to_string(length) + " bytes of output are left out here]\n";
}

}  // namespace

bool KeptOutput::is_small() const { return most_ < kLeastForNote; }

std::uint64_t KeptOutput::head_room() const {
  if (head_is_closed_) return 0;
  return (is_small() ? most_ : most_ / 2) - head_.size();
}

void KeptOutput::add(std::uint64_t offset, std::string_view bytes) {
  if (!std::exchange(begun_, true)) begin_ = offset;
  end_ = offset + bytes.size();
  const auto first = static_cast<std::size_t>(std::min<std::uint64_t>(head_room(), bytes.size()));
  head_ += bytes.substr(0, first);
  bytes.remove_prefix(first);
  if (bytes.empty()) return;
  head_is_closed_ = true;
  push(bytes);
}

void KeptOutput::add_gap(std::uint64_t offset, std::uint64_t length) {
  if (!std::exchange(begun_, true)) begin_ = offset;
  end_ = offset + length;
  head_is_closed_ = true;
  tail_.clear();
  oldest_ = 0;
}

void KeptOutput::push(std::string_view bytes) {
  const auto room = static_cast<std::size_t>(most_ - head_.size());
  if (bytes.size() >= room) {
    tail_ = bytes.substr(bytes.size() - room);
    oldest_ = 0;
    return;
  }
  const std::size_t first = std::min(room - tail_.size(), bytes.size());
  tail_ += bytes.substr(0, first);
  bytes.remove_prefix(first);
  while (!bytes.empty()) {
    const std::size_t piece = std::min(room - oldest_, bytes.size());
    std::copy_n(bytes.data(), piece, tail_.data() + oldest_);
    oldest_ = (oldest_ + piece) % room;
    bytes.remove_prefix(piece);
  }
}

KeptOutput::Kept KeptOutput::take() {
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(oldest_), tail_.end());
  std::string_view tail = tail_;
  Kept out{std::move(head_), std::nullopt};
  if (begin_ + out.bytes.size() + tail.size() == end_) {
    out.bytes += tail;
    return out;
  }
  out.bytes.resize(out.bytes.size() - broken_end(out.bytes));
  KeptGap gap{.offset = begin_ + out.bytes.size(), .length = 0, .at = out.bytes.size()};
  std::string note;
  if (is_small()) {
    tail = {};
  } else {
    // The end makes room for the note, and the gap grows by as much.
    const std::uint64_t longest = note_of(end_ - gap.offset).size();
    const std::uint64_t room = most_ - out.bytes.size() - longest;
    if (tail.size() > room) tail.remove_prefix(tail.size() - static_cast<std::size_t>(room));
    tail.remove_prefix(broken_begin(tail));
  }
  gap.length = end_ - tail.size() - gap.offset;
  if (!is_small()) note = note_of(gap.length);
  gap.note_bytes = note.size();
  out.bytes += note;
  out.bytes += tail;
  out.gap = gap;
  return out;
}

}  // namespace cay::codec
