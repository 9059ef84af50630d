// libarchive pushes what it writes into a buffer, so nothing here blocks.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "api/common/tar.h"
#include "base/utf8_locale.h"
#include "codec/left_out.h"

namespace cay::api {
namespace {

constexpr std::size_t kFlush = 64 * 1024;
constexpr std::int64_t kNanos = 1'000'000'000;

struct ArchiveFree {
  void operator()(archive* it) const { archive_write_free(it); }
};
struct EntryFree {
  void operator()(archive_entry* it) const { archive_entry_free(it); }
};

class TarBytes : public ByteSource {
 public:
  TarBytes(std::unique_ptr<core::TreeSource> tree, std::string root_name)
      : tree_(std::move(tree)), root_name_(std::move(root_name)) {}
  ~TarBytes() override { left_behind_ = true; }

  Task<Bytes> next() override {
    auto begun = begin();
    if (!begun) co_return std::move(begun).error();
    while (!ended_ && out_.size() < kFlush) {
      auto event = co_await tree_->next();
      if (!event) co_return std::move(event).error();
      auto failed = take(*std::move(event));
      if (!failed) co_return std::move(failed).error();
    }
    co_return std::exchange(out_, Bytes());
  }

 private:
  static FileInfo directory() {
    FileInfo info;
    info.kind = FileKind::kDirectory;
    info.mode = 0755;
    return info;
  }

  static la_ssize_t append(archive* tar, void* self, const void* bytes, std::size_t size) {
    auto& out = *static_cast<TarBytes*>(self);
    // archive_write_free pads the file under way to its full size, which may be a terabyte. Failing
    // ends that at once (archive_write_fail would too, but then libarchive 3.6 leaks).
    if (out.left_behind_) {
      archive_set_error(tar, ECANCELED, "left behind");
      return -1;
    }
    out.out_.append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
  }

  Result<void> begin() {
    if (tar_) return {};
    tar_.reset(archive_write_new());
    archive_write_set_format_pax_restricted(tar_.get());
    archive_write_set_bytes_per_block(tar_.get(), 0);  // straight into the buffer
    // libarchive's own form of an attribute would have GNU tar warn.
    const int set = archive_write_set_format_option(tar_.get(), nullptr, "xattrheader", "SCHILY");
    if (set != ARCHIVE_OK) return tar_error();
    if (archive_write_open(tar_.get(), this, nullptr, &append, nullptr) != ARCHIVE_OK)
      return tar_error();
    return {};
  }

  Error tar_error() const {
    const char* why = archive_error_string(tar_.get());
    const std::string reason = why != nullptr ? why : "no reason given";
    return Error{Code::kInternal, "tar_error", "cannot make the archive: " + reason, 0};
  }

  Result<void> take(std::optional<core::TreeEvent> event) {
    if (!event || std::holds_alternative<core::TreeEntry>(*event)) {
      if (left_ != 0)
        return Error{Code::kLost, "file_changed", "a file became shorter while it was read", 0};
    }
    if (!event) {
      if (archive_write_close(tar_.get()) != ARCHIVE_OK) return tar_error();
      ended_ = true;
      return {};
    }
    if (const auto* entry = std::get_if<core::TreeEntry>(&*event)) return add_entry(entry->info);
    return add_bytes(std::get<Bytes>(*event));
  }

  Result<void> add_bytes(const Bytes& bytes) {
    if (bytes.size() > left_)
      return Error{Code::kInternal, "bad_tree", "more bytes than the entry's size", 0};
    left_ -= bytes.size();
    if (skipping_ || bytes.empty()) return {};
    const la_ssize_t written = archive_write_data(tar_.get(), bytes.data(), bytes.size());
    if (written != static_cast<la_ssize_t>(bytes.size())) return tar_error();
    return {};
  }

  Result<void> add_entry(const FileInfo& info) {
    skipping_ = info.kind == FileKind::kOther;
    left_ = info.kind == FileKind::kFile ? info.size : 0;
    if (info.path.empty()) root_ = info;
    if (skipping_) return name_left_out(info.path);
    return write_header(info, nullptr);
  }

  // Its name is an attribute of the root, which is there once more for that.
  Result<void> name_left_out(const std::string& path) { return write_header(root_, &path); }

  Result<void> write_header(const FileInfo& info, const std::string* left_out) {
    std::string name = info.path.empty() ? root_name_ : info.path;
    const std::unique_ptr<archive_entry, EntryFree> entry(archive_entry_new());
    if (info.kind == FileKind::kDirectory) {
      name = (info.path.empty() ? "." : name) + "/";
      archive_entry_set_filetype(entry.get(), AE_IFDIR);
    } else if (info.kind == FileKind::kSymlink) {
      archive_entry_set_filetype(entry.get(), AE_IFLNK);
      archive_entry_copy_symlink(entry.get(), info.target.c_str());
    } else {
      archive_entry_set_filetype(entry.get(), AE_IFREG);
    }
    archive_entry_copy_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(left_));
    archive_entry_set_perm(entry.get(), info.mode & 07777);
    archive_entry_set_uid(entry.get(), info.uid);
    archive_entry_set_gid(entry.get(), info.gid);
    archive_entry_set_mtime(entry.get(), std::max<std::int64_t>(info.mtime_ns / kNanos, 0), 0);
    if (left_out != nullptr) {
      archive_entry_xattr_add_entry(entry.get(), codec::kLeftOutAttribute, left_out->data(),
                                    left_out->size());
    }
    const Utf8Locale locale;
    // A warning: a name that is no UTF-8 went in as the bytes it is.
    if (archive_write_header(tar_.get(), entry.get()) < ARCHIVE_WARN) return tar_error();
    return {};
  }

  std::unique_ptr<core::TreeSource> tree_;
  std::string root_name_;
  FileInfo root_ = directory();
  std::uint64_t left_ = 0;  // bytes of the present entry still to come
  bool skipping_ = false;
  bool ended_ = false;
  bool left_behind_ = false;  // this is being destroyed
  Bytes out_;
  std::unique_ptr<archive, ArchiveFree> tar_;  // last: its end calls append()
};

}  // namespace

std::unique_ptr<ByteSource> tar_of(std::unique_ptr<core::TreeSource> tree, std::string root_name) {
  return std::make_unique<TarBytes>(std::move(tree), std::move(root_name));
}

}  // namespace cay::api
