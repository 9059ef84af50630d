#include "core/disk_walk.h"

#include <algorithm>

namespace cay::core {
namespace {

constexpr std::uint32_t kModeOfTmp = 01777;

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

FileKind kind_of(EntryKind kind) {
  switch (kind) {
    case EntryKind::kFile:
    case EntryKind::kHardLink: return FileKind::kFile;
    case EntryKind::kDirectory:
    case EntryKind::kOpaque: return FileKind::kDirectory;
    case EntryKind::kSymlink: return FileKind::kSymlink;
    case EntryKind::kFifo:
    case EntryKind::kGone: break;
  }
  return FileKind::kOther;
}

FileInfo info_of(const LayerEntry& entry) {
  FileInfo out;
  out.path = "/" + entry.path;
  out.kind = kind_of(entry.kind);
  out.size = entry.size;
  out.mode = entry.mode;
  out.uid = entry.uid;
  out.gid = entry.gid;
  out.mtime_ns = entry.mtime_ns;
  if (entry.kind == EntryKind::kSymlink) out.target = entry.target;
  return out;
}

bool has_same_rights(const FileInfo& a, const FileInfo& b) {
  return a.mode == b.mode && a.uid == b.uid && a.gid == b.gid;
}

// Init gives every sandbox a /tmp that all may use.
bool is_made_by_init(const FileInfo& after) {
  return after.path == "/tmp" && after.kind == FileKind::kDirectory && after.mode == kModeOfTmp &&
         after.uid == 0 && after.gid == 0;
}

}  // namespace

Task<void> DiskWalk::run() {
  auto opening = live_->read_layer(place_);
  CAY_CO_TRY(auto entries, co_await std::move(opening));
  while (!out_.closed()) {
    auto reading = entries->next();
    CAY_CO_TRY(auto event, co_await std::move(reading));
    if (!event) break;
    auto* const entry = std::get_if<LayerEntry>(&*event);
    if (entry == nullptr) continue;  // the bytes of a file
    auto taking = take(std::move(*entry));
    CAY_CO_CHECK(co_await std::move(taking));
  }
  while (!levels_.empty() && !out_.closed()) {
    CAY_CO_CHECK(co_await leave());
  }
  co_return Result<void>();
}

Task<void> DiskWalk::take(LayerEntry entry) {
  if (entry.kind == EntryKind::kOpaque) {
    if (!levels_.empty()) levels_.back().is_opaque = true;
    co_return Result<void>();
  }
  std::optional<FileInfo> before;
  if (!entry.path.empty()) {
    CAY_CO_CHECK(co_await leave_for(directory_of(entry.path)));
    before = take_below(entry.path);
  } else {
    const FileAs root;
    auto looking = live_->stat("/", root, false);
    CAY_CO_TRY(before, co_await std::move(looking));
  }
  if (entry.kind == EntryKind::kGone) {
    if (!before) co_return Result<void>();
    auto pushed = co_await push(ChangeKind::kDeleted, std::move(before), std::nullopt);
    co_return pushed;
  }
  if (entry.kind == EntryKind::kDirectory) {
    auto done = co_await take_directory(entry, std::move(before));
    co_return done;
  }
  auto done = co_await take_file(entry, std::move(before));
  co_return done;
}

Task<void> DiskWalk::take_directory(const LayerEntry& entry, std::optional<FileInfo> before) {
  FileInfo after = info_of(entry);
  after.size = 0;
  Level level;
  level.path = entry.path;
  const bool was_directory = before && before->kind == FileKind::kDirectory;
  if (was_directory) {
    before->size = 0;
    const FileAs root;
    auto listing = live_->list("/" + entry.path, root);
    CAY_CO_TRY(auto all, co_await std::move(listing));
    for (FileInfo& one : all) {
      std::string name = name_of(one.path);
      level.below.emplace(std::move(name), std::move(one));
    }
  }
  levels_.push_back(std::move(level));
  // The root belongs to the builder, whose own disk shows in it.
  if (entry.path.empty() || is_made_by_init(after)) co_return Result<void>();
  if (!before) {
    auto pushed = co_await push(ChangeKind::kAdded, std::nullopt, std::move(after));
    co_return pushed;
  }
  if (was_directory && has_same_rights(*before, after)) co_return Result<void>();
  auto pushed = co_await push(ChangeKind::kChanged, std::move(before), std::move(after));
  co_return pushed;
}

Task<void> DiskWalk::take_file(const LayerEntry& entry, std::optional<FileInfo> before) {
  FileInfo after = info_of(entry);
  if (entry.kind == EntryKind::kHardLink) {
    const FileAs root;
    auto looking = live_->stat(place_ + "/" + entry.path, root, false);
    CAY_CO_TRY(const FileInfo found, co_await std::move(looking));
    after.size = found.size;
  }
  if (!before) {
    auto pushed = co_await push(ChangeKind::kAdded, std::nullopt, std::move(after));
    co_return pushed;
  }
  auto comparing = is_same(*before, after);
  CAY_CO_TRY(const bool same, co_await std::move(comparing));
  if (same) co_return Result<void>();
  auto pushed = co_await push(ChangeKind::kChanged, std::move(before), std::move(after));
  co_return pushed;
}

// overlayfs copies a file also when it is only opened for writing.
Task<bool> DiskWalk::is_same(const FileInfo& before, const FileInfo& after) {
  if (before.kind != after.kind || !has_same_rights(before, after)) co_return false;
  if (after.kind == FileKind::kSymlink) co_return before.target == after.target;
  if (after.kind != FileKind::kFile) co_return true;
  if (before.size != after.size) co_return false;
  if (after.size == 0) co_return true;
  auto comparing = has_same_content(before.path, place_ + after.path);
  auto same = co_await std::move(comparing);
  co_return same;
}

Task<bool> DiskWalk::has_same_content(std::string a, std::string b) {
  const FileAs root;
  const ReadRange all;
  auto opening = live_->read(std::move(a), root, all);
  CAY_CO_TRY(FileStream one, co_await std::move(opening));
  auto opening_other = live_->read(std::move(b), root, all);
  CAY_CO_TRY(FileStream two, co_await std::move(opening_other));
  Bytes left, right;  // what the other one has to have next
  for (;;) {
    if (left.empty()) {
      auto reading = one.bytes->next();
      CAY_CO_TRY(left, co_await std::move(reading));
    }
    if (right.empty()) {
      auto reading = two.bytes->next();
      CAY_CO_TRY(right, co_await std::move(reading));
    }
    if (left.empty() || right.empty()) co_return left.empty() && right.empty();
    const std::size_t both = std::min(left.size(), right.size());
    if (left.compare(0, both, right, 0, both) != 0) co_return false;
    left.erase(0, both);
    right.erase(0, both);
  }
}

// Returns what the layers below have at this path, if they have anything.
std::optional<FileInfo> DiskWalk::take_below(const std::string& path) {
  if (levels_.empty()) return std::nullopt;
  const auto found = levels_.back().below.extract(name_of(path));
  if (!found) return std::nullopt;
  FileInfo info = found.mapped();
  info.path = "/" + path;
  return info;
}

Task<void> DiskWalk::leave_for(const std::string& parent) {
  while (levels_.size() > 1 && levels_.back().path != parent) {
    CAY_CO_CHECK(co_await leave());
  }
  co_return Result<void>();
}

Task<void> DiskWalk::leave() {
  const Level left = std::move(levels_.back());
  levels_.pop_back();
  if (!left.is_opaque) co_return Result<void>();
  for (const auto& [name, info] : left.below) {
    FileInfo before = info;
    before.path = "/" + (left.path.empty() ? name : left.path + "/" + name);
    CAY_CO_CHECK(co_await push(ChangeKind::kDeleted, std::move(before), std::nullopt));
  }
  co_return Result<void>();
}

Task<void> DiskWalk::push(ChangeKind kind, std::optional<FileInfo> before,
                          std::optional<FileInfo> after) {
  DiskChange change;
  change.path = after ? after->path : before->path;
  change.kind = kind;
  change.before = std::move(before);
  change.after = std::move(after);
  co_await out_.push(std::move(change));
  co_return Result<void>();
}

}  // namespace cay::core
