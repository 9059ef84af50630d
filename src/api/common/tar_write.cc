// The writer puts its bytes into memory, so nothing here blocks.
#include <algorithm>
#include <utility>

#include "api/common/tar.h"
#include "archive/tar_writer.h"
#include "codec/left_out.h"
#include "core/ports/runtime.h"

namespace cay::api {
namespace {

constexpr std::size_t kFlush = 64 * 1024;
constexpr std::int64_t kNanos = 1'000'000'000;

class TarBytes : public ByteSource {
 public:
  TarBytes(std::unique_ptr<core::TreeSource> tree, std::string root_name)
      : tree_(std::move(tree)), root_name_(std::move(root_name)) {}

  Task<Bytes> next() override {
    auto begun = begin();
    if (!begun) co_return std::move(begun).error();
    while (!ended_ && tar_->size() < kFlush) {
      auto event = co_await tree_->next();
      if (!event) co_return std::move(event).error();
      auto failed = take(*std::move(event));
      if (!failed) co_return std::move(failed).error();
    }
    co_return tar_->take();
  }

 private:
  static FileInfo directory() {
    FileInfo info;
    info.kind = FileKind::kDirectory;
    info.mode = 0755;
    return info;
  }

  Result<void> begin() {
    if (tar_) return {};
    CAY_TRY(tar_, archive::TarWriter::into_memory(archive::TarWriter::Blocks::kAsTheyCome));
    return {};
  }

  Result<void> take(std::optional<core::TreeEvent> event) {
    if (!event || std::holds_alternative<core::TreeEntry>(*event)) {
      if (left_ != 0)
        return Error{Code::kLost, "file_changed", "a file became shorter while it was read", 0};
    }
    if (!event) {
      CAY_CHECK(tar_->close());
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
    CAY_CHECK(tar_->write(bytes));
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
    archive::TarHeader header;
    header.name = info.path.empty() ? root_name_ : info.path;
    header.kind = archive::TarEntry::Kind::kFile;
    if (info.kind == FileKind::kDirectory) {
      header.name = (info.path.empty() ? "." : header.name) + "/";
      header.kind = archive::TarEntry::Kind::kDirectory;
    } else if (info.kind == FileKind::kSymlink) {
      header.kind = archive::TarEntry::Kind::kSymlink;
      header.link_target = info.target;
    }
    header.size = left_;
    header.mode = info.mode & 07777;
    header.uid = info.uid;
    header.gid = info.gid;
    header.mtime_seconds = std::max<std::int64_t>(info.mtime_ns / kNanos, 0);
    if (left_out != nullptr) header.left_out = *left_out;
    return tar_->add(header);
  }

  std::unique_ptr<core::TreeSource> tree_;
  std::string root_name_;
  FileInfo root_ = directory();
  std::uint64_t left_ = 0;  // bytes of the present entry still to come
  bool skipping_ = false;
  bool ended_ = false;
  std::unique_ptr<archive::TarWriter> tar_;
};

}  // namespace

std::unique_ptr<ByteSource> tar_of(std::unique_ptr<core::TreeSource> tree, std::string root_name) {
  return std::make_unique<TarBytes>(std::move(tree), std::move(root_name));
}

}  // namespace cay::api
