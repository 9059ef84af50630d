#include "image/layer_writer.h"

#include <utility>

#include "image/blob_store.h"

namespace cay::image {
namespace {

constexpr std::int64_t kNanosOfSecond = 1'000'000'000;

// The path of a whiteout for `path`.
std::string whiteout_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, begin) + ".wh." + path.substr(begin);
}

}  // namespace

Result<LayerWriter> LayerWriter::create(UniqueFd file) {
  LayerWriter out;
  out.out_.file = std::move(file);
  CAY_TRY(out.tar_, archive::TarWriter::into_memory(archive::TarWriter::Blocks::kOfTape));
  CAY_TRY(out.gzip_, archive::Compressor::gzip());
  return out;
}

Result<void> LayerWriter::add(const core::LayerEntry& entry) {
  archive::TarHeader header;
  header.name = entry.path;
  header.mode = entry.mode;
  header.uid = entry.uid;
  header.gid = entry.gid;
  header.mtime_seconds = entry.mtime_ns / kNanosOfSecond;
  header.mtime_nanoseconds = entry.mtime_ns % kNanosOfSecond;
  if (header.mtime_nanoseconds < 0) {
    --header.mtime_seconds;
    header.mtime_nanoseconds += kNanosOfSecond;
  }
  header.attributes = entry.xattrs;
  switch (entry.kind) {
    case core::EntryKind::kFile: header.size = entry.size; break;
    case core::EntryKind::kDirectory:
      header.kind = archive::TarEntry::Kind::kDirectory;
      header.name = entry.path.empty() ? "./" : entry.path + '/';
      break;
    case core::EntryKind::kSymlink:
      header.kind = archive::TarEntry::Kind::kSymlink;
      header.link_target = entry.target;
      break;
    case core::EntryKind::kHardLink: header.hard_link = entry.target; break;
    case core::EntryKind::kFifo: header.is_fifo = true; break;
    case core::EntryKind::kGone: header.name = whiteout_of(entry.path); break;
    case core::EntryKind::kOpaque:
      header.name = (entry.path.empty() ? "" : entry.path + '/') + ".wh..wh..opq";
      break;
  }
  CAY_CHECK(tar_->add(header));
  return pass_on();
}

Result<void> LayerWriter::add(std::string_view bytes) {
  CAY_CHECK(tar_->write(bytes));
  return pass_on();
}

Result<void> LayerWriter::pass_on() {
  const std::string bytes = tar_->take();
  plain_.update(bytes);
  CAY_CHECK(gzip_->add(bytes));
  return store();
}

Result<void> LayerWriter::store() {
  const std::string bytes = gzip_->take();
  packed_.update(bytes);
  out_.size += bytes.size();
  return write_all(out_.file.get(), bytes);
}

Result<WrittenLayer> LayerWriter::finish() {
  CAY_CHECK(tar_->close());
  CAY_CHECK(pass_on());
  CAY_CHECK(gzip_->close());
  CAY_CHECK(store());
  out_.digest = packed_.text();
  out_.diff_id = plain_.text();
  return std::move(out_);
}

}  // namespace cay::image
