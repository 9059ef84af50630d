#include "core/copied_layer.h"

namespace cay::core {
namespace {

std::string joined(const std::string& directory, const std::string& path) {
  if (directory.empty() || path.empty()) return directory + path;
  return directory + "/" + path;
}

class CopiedLayer final : public LayerSource {
 public:
  CopiedLayer(std::vector<CopyPart> parts, std::shared_ptr<LiveSandbox> into)
      : parts_(std::move(parts)), into_(std::move(into)) {}

  Task<std::optional<LayerEvent>> next() override {
    for (;;) {
      if (content_) {
        Bytes bytes = *std::exchange(content_, std::nullopt);
        co_return std::optional<LayerEvent>(std::move(bytes));
      }
      if (inner_) {
        CAY_CO_TRY(auto event, co_await inner_->next());
        if (!event) {
          inner_.reset();
          ++at_;
          continue;
        }
        if (!changed(*event)) continue;
        CAY_CO_TRY(const bool is_link, co_await is_linked_directory(*event));
        if (!is_link) co_return std::move(event);
        continue;
      }
      if (at_ == parts_.size()) co_return std::optional<LayerEvent>();
      if (auto* made = std::get_if<MadePart>(&parts_[at_])) {
        ++at_;
        if (!made->content.empty()) content_ = std::move(made->content);
        co_return std::optional<LayerEvent>(std::move(made->entry));
      }
      CAY_CO_CHECK(co_await open());
    }
  }

 private:
  Task<void> open() {
    if (auto* unpacked = std::get_if<UnpackedPart>(&parts_[at_])) {
      inner_ = unpacked->entries;
      to_ = unpacked->to;
      change_ = unpacked->change;
      co_return Result<void>();
    }
    auto& read = std::get<ReadPart>(parts_[at_]);
    to_ = read.to;
    change_ = read.change;
    auto reading = read.from->read_layer(read.path);
    CAY_CO_TRY(inner_, co_await std::move(reading));
    co_return Result<void>();
  }

  // An image may have /lib as a link to /usr/lib, and the files that are copied have a directory.
  Task<bool> is_linked_directory(const LayerEvent& event) const {
    const auto* entry = std::get_if<LayerEntry>(&event);
    if (!into_ || entry == nullptr || entry->kind != EntryKind::kDirectory || entry->path.empty())
      co_return false;
    const std::string path = "/" + entry->path;
    auto looking = into_->stat(path, FileAs{}, false);
    const auto there = co_await std::move(looking);
    if (!there || there->kind != FileKind::kSymlink) co_return false;
    looking = into_->stat(path, FileAs{}, true);
    const auto target = co_await std::move(looking);
    co_return target && target->kind == FileKind::kDirectory;
  }

  // false: the event is left out.
  bool changed(LayerEvent& event) const {
    auto* entry = std::get_if<LayerEntry>(&event);
    if (entry == nullptr) return true;
    if (entry->kind == EntryKind::kGone || entry->kind == EntryKind::kOpaque) return false;
    if (entry->path.empty() && entry->kind == EntryKind::kDirectory) return false;
    entry->path = joined(to_, entry->path);
    if (entry->kind == EntryKind::kHardLink) entry->target = joined(to_, entry->target);
    if (change_.owner) {
      entry->uid = change_.owner->uid;
      entry->gid = change_.owner->gid;
    }
    const bool has_mode = entry->kind == EntryKind::kFile || entry->kind == EntryKind::kDirectory;
    if (change_.mode && has_mode) entry->mode = *change_.mode;
    return true;
  }

  std::vector<CopyPart> parts_;
  const std::shared_ptr<LiveSandbox> into_;
  std::size_t at_ = 0;
  std::optional<Bytes> content_;  // of the entry before
  std::shared_ptr<LayerSource> inner_;
  std::string to_;
  CopyChange change_;
};

}  // namespace

std::unique_ptr<LayerSource> copied_layer(std::vector<CopyPart> parts,
                                          std::shared_ptr<LiveSandbox> to) {
  return std::make_unique<CopiedLayer>(std::move(parts), std::move(to));
}

MadePart made_directory(std::string path, FileOwner owner, std::int64_t mtime_ns) {
  MadePart out;
  out.entry.path = std::move(path);
  out.entry.kind = EntryKind::kDirectory;
  out.entry.mode = 0755;
  out.entry.uid = owner.uid;
  out.entry.gid = owner.gid;
  out.entry.mtime_ns = mtime_ns;
  return out;
}

}  // namespace cay::core
