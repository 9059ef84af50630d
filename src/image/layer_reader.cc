#include "image/layer_reader.h"

#include <algorithm>
#include <utility>

#include "archive/tar_parser.h"

namespace cay::image {
namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kOfAufs = ".wh..wh.";  // its own records, which mean nothing to others
constexpr std::size_t kMostAttributes = 64 * 1024;
constexpr std::size_t kEventBytes = 64 * 1024;
constexpr std::int64_t kNanos = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 9'000'000'000;  // in nanoseconds within 64 bits
constexpr std::int64_t kMostId = 0xfffffffe;

Error bad_layer(const std::string& why) {
  return {Code::kInvalidArgument, "bad_layer", "the image's layer cannot be used: " + why, 0};
}

// Returns a name of the archive as a path below the root; "" is the root itself.
Result<std::string> path_of(std::string_view name) {
  if (name == "/") return std::string();
  auto path = archive::safe_entry_path(name, archive::TarLimits{});
  if (!path) return bad_layer(path.error().message);
  return path;
}

std::string_view last_part(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

LayerReader::LayerReader(archive::TarPull pull, std::string diff_id, LayerLimits limits)
    : plain_(std::move(pull)),
      diff_id_(std::move(diff_id)),
      limits_(limits),
      tar_([this] { return plain(); }) {}

Result<std::string> LayerReader::plain() {
  if (in_header_ && bytes_ - header_from_ > limits_.header_bytes)
    return bad_layer("the headers of an entry are longer than 1 MiB");
  if (input_ended_) return std::string();
  auto got = plain_.next();
  if (!got && got.error().reason == "bad_compression") return bad_layer(got.error().message);
  if (!got) return got;
  bytes_ += got->size();
  if (bytes_ > limits_.bytes)
    return bad_layer("it is larger than " + std::to_string(limits_.bytes) + " bytes");
  digest_.update(*got);
  input_ended_ = got->empty();
  return got;
}

Error LayerReader::wrong() const {
  if (tar_.input_error()) return *tar_.input_error();
  if (input_ended_) return bad_layer("it is cut off");
  return bad_layer("it is no tar archive: " + tar_.why());
}

// The rest behind the end mark counts for the digest.
Result<void> LayerReader::finish() {
  const bool has_mark = bytes_ > tar_.header_position();
  while (!input_ended_) {
    CAY_CHECK(plain());
  }
  digest_text_ = digest_.text();
  ended_ = true;
  // libarchive takes the end of the input for the end of the archive. A digest shows that nothing
  // is missing, and some tools write no mark.
  if (diff_id_.empty() && !has_mark) return bad_layer("it is cut off");
  if (!diff_id_.empty() && digest_text_ != diff_id_) {
    return Error{Code::kInvalidArgument, "digest_mismatch",
                 "a layer of the image has the digest " + digest_text_ +
                     ", and its configuration names " + diff_id_ + ": pull it again",
                 0};
  }
  return {};
}

Result<std::optional<core::LayerEvent>> LayerReader::next() {
  if (left_ > 0) return content();
  while (!ended_) {
    in_header_ = true;
    header_from_ = bytes_;
    const auto step = tar_.next();
    in_header_ = false;
    if (step == archive::TarReader::Step::kEnd) {
      CAY_CHECK(finish());
      break;
    }
    if (step != archive::TarReader::Step::kDone &&
        step != archive::TarReader::Step::kDoneButCharset)
      return wrong();
    if (++entries_ > limits_.entries)
      return bad_layer("it has more than " + std::to_string(limits_.entries) + " entries");
    CAY_TRY(auto found, entry());
    if (!found) continue;
    if (found->kind == core::EntryKind::kFile) {
      left_ = found->size;
      offset_ = hole_ = 0;
      block_ = {};
    }
    return std::optional<core::LayerEvent>(*std::move(found));
  }
  return std::optional<core::LayerEvent>();
}

Result<std::optional<core::LayerEntry>> LayerReader::entry() {
  const archive::TarEntry from = tar_.entry();
  const auto name = from.name();
  if (!name || name->empty()) return bad_layer("an entry has no name");
  CAY_TRY(const std::string path, path_of(*name));
  if (path.empty()) return std::optional<core::LayerEntry>();  // the root is the sandbox's own
  const std::string_view last = last_part(path);
  if (("/" + parent_of(path)).find("/.wh.") != std::string::npos) {
    if (path.find("/.wh..wh.") != std::string::npos || path.starts_with(kOfAufs))
      return std::optional<core::LayerEntry>();
    return bad_layer("a path in it leads through a whiteout");
  }
  if (last.starts_with(kWhiteout)) return whiteout(path);
  core::LayerEntry out;
  out.path = path;
  out.mode = from.mode() & 07777;
  if (from.uid() < 0 || from.uid() > kMostId || from.gid() < 0 || from.gid() > kMostId)
    return bad_layer("an entry's owner is no user that there can be");
  out.uid = static_cast<std::uint32_t>(from.uid());
  out.gid = static_cast<std::uint32_t>(from.gid());
  const std::int64_t seconds = std::clamp(from.mtime_seconds(), -kMostSeconds, kMostSeconds);
  out.mtime_ns =
      seconds * kNanos + std::clamp<std::int64_t>(from.mtime_nanoseconds(), 0, kNanos - 1);
  if (from.is_hard_link()) {
    out.kind = core::EntryKind::kHardLink;
    CAY_TRY(out.target, path_of(from.hard_link_target()));
    if (out.target.empty() || out.target == path) return bad_layer("a hard link leads to itself");
  } else if (from.is_fifo()) {
    out.kind = core::EntryKind::kFifo;
  } else if (from.is_device()) {
    ++devices_;
    if (device_names_.size() < kNamedDevices) device_names_.push_back("/" + path);
    return std::optional<core::LayerEntry>();
  } else {
    switch (from.kind()) {
      case archive::TarEntry::Kind::kFile:
        out.kind = core::EntryKind::kFile;
        if (from.size() < 0) return bad_layer("a file has no size");
        out.size = static_cast<std::uint64_t>(from.size());
        // A hole has no bytes in the tar, so a small one could name a file of any size.
        if (out.size > limits_.bytes) return bad_layer("a file in it is too large");
        break;
      case archive::TarEntry::Kind::kDirectory: out.kind = core::EntryKind::kDirectory; break;
      case archive::TarEntry::Kind::kSymlink:
        out.kind = core::EntryKind::kSymlink;
        out.target = from.link_target();
        if (out.target.empty() || out.target.size() > archive::TarLimits{}.path_bytes)
          return bad_layer("a symbolic link has no target, or one that is too long");
        break;
      case archive::TarEntry::Kind::kOther: return bad_layer("an entry is of no known kind");
    }
  }
  CAY_CHECK(put_attributes(from, out));
  CAY_CHECK(note_parents(path));
  return std::optional<core::LayerEntry>(std::move(out));
}

Result<std::optional<core::LayerEntry>> LayerReader::whiteout(const std::string& path) {
  const std::string_view last = last_part(path);
  const std::string parent = parent_of(path);
  core::LayerEntry out;
  if (last == kOpaque) {
    // This layer's own entries would go as well.
    if (parents_.contains(std::hash<std::string>()(parent)))
      return bad_layer("a directory is declared empty after its entries");
    out.kind = core::EntryKind::kOpaque;
    out.path = parent;
    if (parent.empty()) return bad_layer("its root is declared empty");
    return std::optional<core::LayerEntry>(std::move(out));
  }
  if (last.starts_with(kOfAufs)) return std::optional<core::LayerEntry>();
  const std::string_view gone = last.substr(kWhiteout.size());
  if (gone.empty() || gone == "." || gone == "..") return bad_layer("a whiteout names nothing");
  out.kind = core::EntryKind::kGone;
  out.path = parent.empty() ? std::string(gone) : parent + "/" + std::string(gone);
  return std::optional<core::LayerEntry>(std::move(out));
}

Result<void> LayerReader::note_parents(const std::string& path) {
  for (std::string parent = parent_of(path);; parent = parent_of(parent)) {
    if (!parents_.insert(std::hash<std::string>()(parent)).second || parent.empty()) break;
  }
  return {};
}

Result<void> LayerReader::put_attributes(const archive::TarEntry& from,
                                         core::LayerEntry& to) const {
  std::size_t size = 0;
  for (auto& [name, value] : from.attributes()) {
    // Others are the kernel's, another file system's, or need rights that nobody has inside.
    if (name != "security.capability" && !name.starts_with("user.")) continue;
    size += name.size() + value.size();
    if (size > kMostAttributes) return bad_layer("an entry's attributes are longer than 64 KiB");
    to.xattrs[name] = value;
  }
  return {};
}

// Blocks have offsets: a hole between them is zeros.
Result<std::optional<core::LayerEvent>> LayerReader::content() {
  if (hole_ == 0 && block_.empty()) {
    archive::TarReader::Block block;
    const auto step = tar_.block(block);
    if (step == archive::TarReader::Step::kEnd) {
      hole_ = left_;
    } else if (step != archive::TarReader::Step::kDone) {
      return wrong();
    } else {
      if (block.offset < offset_ || block.offset - offset_ > left_ ||
          block.bytes.size() > left_ - (block.offset - offset_))
        return bad_layer("a file is longer than its head declares");
      hole_ = block.offset - offset_;
      block_ = block.bytes;
    }
  }
  std::string out;
  if (hole_ > 0) {
    out.assign(static_cast<std::size_t>(std::min<std::uint64_t>(hole_, kEventBytes)), '\0');
    hole_ -= out.size();
  } else {
    out.assign(block_.substr(0, kEventBytes));
    block_.remove_prefix(out.size());
  }
  if (out.empty()) return content();  // an empty block
  left_ -= out.size();
  offset_ += out.size();
  return std::optional<core::LayerEvent>(core::LayerEvent(std::move(out)));
}

}  // namespace cay::image
