#include "api/langsmith/offset_index.h"

#include <algorithm>

namespace cay::api::langsmith {
namespace {

std::size_t slot_of(Stream stream) { return stream == Stream::kStdout ? 0 : 1; }

}  // namespace

OffsetIndex::Entry* OffsetIndex::touch(const std::string& key, bool make) {
  auto found = entries_.find(key);
  if (found != entries_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.place);
    return &found->second;
  }
  if (!make) return nullptr;
  if (entries_.size() >= kMaxCommands) {
    entries_.erase(recent_.back());
    recent_.pop_back();
  }
  recent_.push_front(key);
  Entry& entry = entries_[key];
  entry.place = recent_.begin();
  return &entry;
}

void OffsetIndex::add(const std::string& key, Stream stream, OffsetMark mark) {
  auto& marks = touch(key, true)->marks[slot_of(stream)];
  if (mark.raw < (marks.empty() ? 0 : marks.back().raw) + kSpacing) return;
  marks.push_back(mark);
}

void OffsetIndex::began(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  recent_.erase(found->second.place);
  entries_.erase(found);
}

OffsetMark OffsetIndex::find(const std::string& key, Stream stream, std::uint64_t sanitised) {
  const Entry* entry = touch(key, false);
  if (entry == nullptr) return {};
  const auto& marks = entry->marks[slot_of(stream)];
  const auto after = std::upper_bound(
      marks.begin(), marks.end(), sanitised,
      [](std::uint64_t at, const OffsetMark& mark) { return at < mark.sanitised; });
  return after == marks.begin() ? OffsetMark{} : *(after - 1);
}

}  // namespace cay::api::langsmith
