#include "archive/tar_writer.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <new>
#include <utility>

#include "archive/utf8_locale.h"
#include "codec/left_out.h"

namespace cay::archive {
namespace {

struct EntryFree {
  void operator()(::archive_entry* it) const { archive_entry_free(it); }
};

unsigned type_of(TarEntry::Kind kind) {
  switch (kind) {
    case TarEntry::Kind::kDirectory: return AE_IFDIR;
    case TarEntry::Kind::kSymlink: return AE_IFLNK;
    case TarEntry::Kind::kFile:
    case TarEntry::Kind::kOther: return AE_IFREG;
  }
  return AE_IFREG;
}

}  // namespace

void TarWriter::Free::operator()(::archive* it) const { archive_write_free(it); }

TarWriter::TarWriter() : tar_(archive_write_new()) {
  if (!tar_) throw std::bad_alloc();
}

TarWriter::~TarWriter() { left_behind_ = true; }

Error TarWriter::error() const {
  const char* why = archive_error_string(tar_.get());
  return {Code::kInternal, "tar_error",
          std::string("cannot make the archive: ") + (why != nullptr ? why : "no reason given"),
          archive_errno(tar_.get())};
}

std::int64_t TarWriter::append(::archive* tar, void* self, const void* bytes, std::size_t size) {
  auto& writer = *static_cast<TarWriter*>(self);
  // archive_write_free pads the file under way to its full size, which may be a terabyte. Failing
  // ends that at once (archive_write_fail would too, but then libarchive 3.6 leaks).
  if (writer.left_behind_) {
    archive_set_error(tar, ECANCELED, "left behind");
    return -1;
  }
  writer.out_.append(static_cast<const char*>(bytes), size);
  return static_cast<std::int64_t>(size);
}

Result<std::unique_ptr<TarWriter>> TarWriter::into_memory(Blocks blocks) {
  std::unique_ptr<TarWriter> out(new TarWriter);
  ::archive* tar = out->tar_.get();
  archive_write_set_format_pax_restricted(tar);
  if (blocks == Blocks::kAsTheyCome) {
    archive_write_set_bytes_per_block(tar, 0);
  } else {
    archive_write_set_bytes_in_last_block(tar, 1);
  }
  // libarchive's own form of an attribute would have GNU tar warn.
  if (archive_write_set_format_option(tar, nullptr, "xattrheader", "SCHILY") != ARCHIVE_OK)
    return out->error();
  const auto write = [](::archive* to, void* self, const void* bytes,
                        std::size_t size) -> la_ssize_t {
    return static_cast<la_ssize_t>(append(to, self, bytes, size));
  };
  if (archive_write_open(tar, out.get(), nullptr, write, nullptr) != ARCHIVE_OK)
    return out->error();
  return out;
}

Result<std::unique_ptr<TarWriter>> TarWriter::into_file(int fd) {
  std::unique_ptr<TarWriter> out(new TarWriter);
  ::archive* tar = out->tar_.get();
  if (archive_write_set_format_pax_restricted(tar) != ARCHIVE_OK ||
      archive_write_add_filter_zstd(tar) < ARCHIVE_WARN ||
      archive_write_open_fd(tar, fd) != ARCHIVE_OK)
    return out->error();
  return out;
}

Result<void> TarWriter::add(const TarHeader& header) {
  const std::unique_ptr<::archive_entry, EntryFree> entry(archive_entry_new());
  if (!entry) throw std::bad_alloc();
  archive_entry_copy_pathname(entry.get(), header.name.c_str());
  archive_entry_set_filetype(entry.get(), header.is_fifo ? AE_IFIFO : type_of(header.kind));
  archive_entry_set_perm(entry.get(), header.mode);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(header.size));
  archive_entry_set_uid(entry.get(), header.uid);
  archive_entry_set_gid(entry.get(), header.gid);
  archive_entry_set_mtime(entry.get(), header.mtime_seconds,
                          static_cast<long>(header.mtime_nanoseconds));
  if (header.kind == TarEntry::Kind::kSymlink)
    archive_entry_copy_symlink(entry.get(), header.link_target.c_str());
  if (!header.hard_link.empty()) archive_entry_copy_hardlink(entry.get(), header.hard_link.c_str());
  for (const auto& [name, value] : header.attributes)
    archive_entry_xattr_add_entry(entry.get(), name.c_str(), value.data(), value.size());
  if (!header.left_out.empty())
    archive_entry_xattr_add_entry(entry.get(), codec::kLeftOutAttribute, header.left_out.data(),
                                  header.left_out.size());
  return add(entry.get());
}

Result<void> TarWriter::add(::archive_entry* entry) {
  const Utf8Locale locale;
  // libarchive warns of a name that is no UTF-8, and writes it as the bytes that it is.
  if (archive_write_header(tar_.get(), entry) < ARCHIVE_WARN) return error();
  return {};
}

Result<std::size_t> TarWriter::write(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const la_ssize_t n = archive_write_data(tar_.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0) return error();
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<void> TarWriter::end_entry() {
  if (archive_write_finish_entry(tar_.get()) < ARCHIVE_WARN) return error();
  return {};
}

Result<void> TarWriter::close() {
  if (archive_write_close(tar_.get()) < ARCHIVE_WARN) return error();
  return {};
}

std::string TarWriter::take() { return std::exchange(out_, {}); }

}  // namespace cay::archive
