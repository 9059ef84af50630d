#include "core/disk_room.h"

#include <algorithm>
#include <string>
#include <utility>

#include "async/piped.h"

namespace cay::core {
namespace {

constexpr std::uint64_t kLook = 16 << 20;  // bytes between two looks at the disk

class Watch {
 public:
  explicit Watch(DiskRoom room) : room_(std::move(room)) {}

  // To be called with what is about to go in.
  Result<void> take(std::size_t bytes) {
    if (!room_.free_bytes) return {};
    if (!begun_ || sent_ + bytes > looked_at_ + kLook) {
      const std::uint64_t now = room_.free_bytes();
      if (!begun_) first_ = now;
      begun_ = true;
      looked_at_ = sent_;
      last_ = now;
    }
    sent_ += bytes;
    // The disk may show what was sent only when the kernel writes it out.
    const std::uint64_t left = std::min(last_, first_ - std::min(first_, sent_));
    if (left >= room_.reserve_bytes) return {};
    const auto mib = [](std::uint64_t count) { return std::to_string(count >> 20) + " MiB"; };
    return Error{Code::kUnavailable, "host_disk_full",
                 "the host's disk has " + mib(last_) + " left, of which " +
                     mib(room_.reserve_bytes) +
                     " are kept back: free space on the host, or delete sandboxes",
                 0};
  }

 private:
  DiskRoom room_;
  bool begun_ = false;
  std::uint64_t first_ = 0, last_ = 0, sent_ = 0, looked_at_ = 0;
};

class WatchedBytes final : public PassingSource {
 public:
  WatchedBytes(std::unique_ptr<ByteSource> inner, DiskRoom room)
      : PassingSource(std::move(inner)), watch_(std::move(room)) {}

 private:
  Result<void> see(std::size_t size) override { return watch_.take(size); }

  Watch watch_;
};

class WatchedTree final : public TreeSource {
 public:
  WatchedTree(std::unique_ptr<TreeSource> inner, DiskRoom room)
      : inner_(std::move(inner)), watch_(std::move(room)) {}
  Task<std::optional<TreeEvent>> next() override {
    CAY_CO_TRY(auto event, co_await inner_->next());
    const auto* bytes = event ? std::get_if<Bytes>(&*event) : nullptr;
    CAY_CO_CHECK(watch_.take(bytes == nullptr ? 0 : bytes->size()));
    co_return event;
  }

 private:
  std::unique_ptr<TreeSource> inner_;
  Watch watch_;
};

}  // namespace

std::unique_ptr<ByteSource> within_room(std::unique_ptr<ByteSource> inner, DiskRoom room) {
  return std::make_unique<WatchedBytes>(std::move(inner), std::move(room));
}

std::unique_ptr<TreeSource> within_room(std::unique_ptr<TreeSource> inner, DiskRoom room) {
  return std::make_unique<WatchedTree>(std::move(inner), std::move(room));
}

}  // namespace cay::core
