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
  return (is_small() ? most_ : most_ / 2) - head_;
}

void KeptOutput::add(std::uint64_t offset, std::string_view bytes) {
  if (!std::exchange(begun_, true)) begin_ = offset;
  end_ = offset + bytes.size();
  const auto first = static_cast<std::size_t>(std::min<std::uint64_t>(head_room(), bytes.size()));
  kept_ += bytes.substr(0, first);
  head_ += first;
  bytes.remove_prefix(first);
  if (bytes.empty()) return;
  head_is_closed_ = true;
  push(bytes);
}

void KeptOutput::add_gap(std::uint64_t offset, std::uint64_t length) {
  if (!std::exchange(begun_, true)) begin_ = offset;
  end_ = offset + length;
  head_is_closed_ = true;
  kept_.resize(head_);
  oldest_ = 0;
}

void KeptOutput::push(std::string_view bytes) {
  const auto room = static_cast<std::size_t>(most_ - head_);
  if (bytes.size() >= room) {
    kept_.resize(head_);
    kept_ += bytes.substr(bytes.size() - room);
    oldest_ = 0;
    return;
  }
  const auto free = static_cast<std::size_t>(most_ - kept_.size());
  const std::size_t first = std::min(free, bytes.size());
  kept_ += bytes.substr(0, first);
  bytes.remove_prefix(first);
  while (!bytes.empty()) {
    const std::size_t piece = std::min(room - oldest_, bytes.size());
    std::copy_n(bytes.data(), piece, kept_.data() + head_ + oldest_);
    oldest_ = (oldest_ + piece) % room;
    bytes.remove_prefix(piece);
  }
}

KeptOutput::Kept KeptOutput::take() {
  const auto ring = kept_.begin() + static_cast<std::ptrdiff_t>(head_);
  std::rotate(ring, ring + static_cast<std::ptrdiff_t>(oldest_), kept_.end());
  if (begin_ + kept_.size() == end_) return {std::move(kept_), std::nullopt};
  const std::string_view head = std::string_view(kept_).substr(0, head_);
  std::string_view tail = std::string_view(kept_).substr(head_);
  const std::size_t at = head.size() - broken_end(head);
  KeptGap gap{.offset = begin_ + at, .length = 0, .at = at};
  if (is_small()) {
    tail = {};
  } else {
    // The end makes room for the note, and the gap grows by as much.
    const std::uint64_t room = most_ - at - note_of(end_ - gap.offset).size();
    if (tail.size() > room) tail.remove_prefix(tail.size() - static_cast<std::size_t>(room));
    tail.remove_prefix(broken_begin(tail));
  }
  gap.length = end_ - tail.size() - gap.offset;
  const std::string note = is_small() ? std::string() : note_of(gap.length);
  gap.note_bytes = note.size();
  kept_.replace(at, kept_.size() - tail.size() - at, note);
  return {std::move(kept_), gap};
}

}  // namespace cay::codec
