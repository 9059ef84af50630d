#include "api/common/tar.h"
#include "api/common/tar_header.h"

namespace cay::api {
namespace {

constexpr std::size_t kFlush = 64 * 1024;
constexpr std::uint64_t kLargestOctal = (1ull << 33) - 1;
constexpr std::size_t kNameRoom = 100;
constexpr std::int64_t kNanos = 1'000'000'000;

class TarBytes : public ByteSource {
 public:
  TarBytes(std::unique_ptr<core::TreeSource> tree, std::string root_name)
      : tree_(std::move(tree)), root_name_(std::move(root_name)) {}

  Task<Bytes> next() override {
    Bytes out;
    while (!ended_ && out.size() < kFlush) {
      auto event = co_await tree_->next();
      if (!event) co_return std::move(event).error();
      auto failed = take(*std::move(event), out);
      if (!failed) co_return std::move(failed).error();
    }
    co_return out;
  }

 private:
  Result<void> take(std::optional<core::TreeEvent> event, Bytes& out) {
    if (!event || std::holds_alternative<core::TreeEntry>(*event)) {
      if (left_ != 0) return Error{Code::kLost, "file_changed", "a file became shorter while it was read", 0};
    }
    if (!event) {
      out.append(2 * kTarBlock, '\0');
      ended_ = true;
    } else if (auto* entry = std::get_if<core::TreeEntry>(&*event)) {
      add_entry(entry->info, out);
    } else {
      const Bytes& bytes = std::get<Bytes>(*event);
      if (bytes.size() > left_) return Error{Code::kInternal, "bad_tree", "more bytes than the entry's size", 0};
      if (!skipping_) out += bytes;
      left_ -= bytes.size();
      if (left_ == 0 && !skipping_) out.append(padding_, '\0');
    }
    return {};
  }

  void add_entry(const FileInfo& info, Bytes& out) {
    skipping_ = info.kind == FileKind::kOther;
    left_ = info.kind == FileKind::kFile ? info.size : 0;
    padding_ = tar_padding(left_);
    if (skipping_) return;
    TarHeader header;
    header.name = info.path.empty() ? (info.kind == FileKind::kDirectory ? "." : root_name_) : info.path;
    header.type = '0';
    if (info.kind == FileKind::kDirectory) {
      header.type = '5';
      header.name += '/';
    } else if (info.kind == FileKind::kSymlink) {
      header.type = '2';
      header.link = info.target;
    }
    header.size = left_;
    header.mode = info.mode & 07777;
    header.uid = info.uid;
    header.gid = info.gid;
    header.mtime = info.mtime_ns / kNanos;
    add_pax(header, out);
    out += tar_header_block(header);
  }

  // Members that do not fit a header go into a pax header before it.
  static void add_pax(TarHeader& header, Bytes& out) {
    std::string records;
    if (header.name.size() > kNameRoom) {
      records += pax_record("path", header.name);
      header.name.resize(kNameRoom);
    }
    if (header.link.size() > kNameRoom) {
      records += pax_record("linkpath", header.link);
      header.link.resize(kNameRoom);
    }
    TarHeader shown = header;
    if (header.size > kLargestOctal) {
      records += pax_record("size", std::to_string(header.size));
      header.size = 0;
    }
    if (records.empty()) return;
    shown.name = "PaxHeader";
    shown.link.clear();
    shown.type = 'x';
    shown.size = records.size();
    out += tar_header_block(shown);
    out += records;
    out.append(tar_padding(records.size()), '\0');
  }

  std::unique_ptr<core::TreeSource> tree_;
  std::string root_name_;
  std::uint64_t left_ = 0;     // bytes of the present entry still to come
  std::size_t padding_ = 0;
  bool skipping_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> tar_of(std::unique_ptr<core::TreeSource> tree, std::string root_name) {
  return std::make_unique<TarBytes>(std::move(tree), std::move(root_name));
}

}  // namespace cay::api
