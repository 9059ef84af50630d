#include "archive/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <new>
#include <utility>

#include "codec/left_out.h"

namespace cay::archive {
namespace {

constexpr std::size_t kFileBlock = 128 * 1024;

}  // namespace

std::optional<std::string> TarEntry::name() const {
  const char* raw = archive_entry_pathname(entry_);
  return raw == nullptr ? std::nullopt : std::optional<std::string>(raw);
}

TarEntry::Kind TarEntry::kind() const {
  switch (archive_entry_filetype(entry_)) {
    case AE_IFREG: return Kind::kFile;
    case AE_IFDIR: return Kind::kDirectory;
    case AE_IFLNK: return Kind::kSymlink;
    default: return Kind::kOther;
  }
}

bool TarEntry::is_hard_link() const { return archive_entry_hardlink(entry_) != nullptr; }
bool TarEntry::is_fifo() const { return archive_entry_filetype(entry_) == AE_IFIFO; }

bool TarEntry::is_device() const {
  const auto type = archive_entry_filetype(entry_);
  return type == AE_IFCHR || type == AE_IFBLK;
}

std::string TarEntry::hard_link_target() const {
  const char* raw = archive_entry_hardlink(entry_);
  return raw == nullptr ? std::string() : raw;
}

std::map<std::string, std::string> TarEntry::attributes() const {
  std::map<std::string, std::string> out;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  archive_entry_xattr_reset(entry_);
  while (archive_entry_xattr_next(entry_, &name, &value, &size) == ARCHIVE_OK)
    out[name] = std::string(static_cast<const char*>(value), size);
  return out;
}

bool TarEntry::is_sparse() const { return archive_entry_sparse_count(entry_) != 0; }
std::int64_t TarEntry::size() const { return archive_entry_size(entry_); }
std::uint32_t TarEntry::mode() const { return archive_entry_perm(entry_); }
std::int64_t TarEntry::uid() const { return archive_entry_uid(entry_); }
std::int64_t TarEntry::gid() const { return archive_entry_gid(entry_); }
std::int64_t TarEntry::mtime_seconds() const { return archive_entry_mtime(entry_); }
std::int64_t TarEntry::mtime_nanoseconds() const { return archive_entry_mtime_nsec(entry_); }

std::string TarEntry::link_target() const {
  const char* raw = archive_entry_symlink(entry_);
  return raw == nullptr ? std::string() : raw;
}

std::optional<std::string> TarEntry::left_out() const {
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  archive_entry_xattr_reset(entry_);
  while (archive_entry_xattr_next(entry_, &name, &value, &size) == ARCHIVE_OK) {
    if (std::string_view(name) == codec::kLeftOutAttribute)
      return std::string(static_cast<const char*>(value), size);
  }
  return std::nullopt;
}

void TarReader::Free::operator()(::archive* it) const { archive_read_free(it); }

TarReader::TarReader(TarPull pull, Names names) : pull_(std::move(pull)), tar_(archive_read_new()) {
  if (!tar_) throw std::bad_alloc();
  archive_read_support_format_tar(tar_.get());
  if (names == Names::kBytes) archive_read_set_options(tar_.get(), "hdrcharset=BINARY");
}

TarReader::TarReader(int fd) : fd_(fd), tar_(archive_read_new()) {
  if (!tar_) throw std::bad_alloc();
  archive_read_support_format_tar(tar_.get());
  archive_read_support_filter_zstd(tar_.get());
}

TarReader::~TarReader() = default;

std::int64_t TarReader::feed(::archive* tar, void* self, const void** bytes) {
  auto& reader = *static_cast<TarReader*>(self);
  auto got = reader.pull_();
  if (!got) {
    archive_set_error(tar, EIO, "%s", got.error().message.c_str());
    reader.input_error_ = std::move(got).error();
    return ARCHIVE_FATAL;
  }
  reader.chunk_ = *std::move(got);
  *bytes = reader.chunk_.data();
  return static_cast<std::int64_t>(reader.chunk_.size());
}

bool TarReader::open() {
  is_open_ = true;
  if (fd_ >= 0) return archive_read_open_fd(tar_.get(), fd_, kFileBlock) == ARCHIVE_OK;
  const auto read = [](::archive* tar, void* self, const void** bytes) -> la_ssize_t {
    return static_cast<la_ssize_t>(feed(tar, self, bytes));
  };
  return archive_read_open(tar_.get(), this, nullptr, read, nullptr) == ARCHIVE_OK;
}

TarReader::Step TarReader::step_of(int code) const {
  if (code == ARCHIVE_OK) return Step::kDone;
  if (code == ARCHIVE_EOF) return Step::kEnd;
  if (code != ARCHIVE_WARN) return Step::kFailed;
  return archive_errno(tar_.get()) == EILSEQ ? Step::kDoneButCharset : Step::kDoneButWarned;
}

TarReader::Step TarReader::next() {
  if (!is_open_ && !open()) return Step::kFailed;
  return step_of(archive_read_next_header(tar_.get(), &entry_));
}

TarReader::Step TarReader::block(Block& out) {
  const void* bytes = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  const Step step = step_of(archive_read_data_block(tar_.get(), &bytes, &size, &offset));
  out = {std::string_view(static_cast<const char*>(bytes), size),
         static_cast<std::uint64_t>(offset)};
  return step;
}

TarReader::Step TarReader::skip_bytes() { return step_of(archive_read_data_skip(tar_.get())); }

std::string TarReader::why() const {
  const char* words = archive_error_string(tar_.get());
  return words == nullptr ? "unknown failure" : words;
}

int TarReader::os_errno() const { return archive_errno(tar_.get()); }

std::uint64_t TarReader::header_position() const {
  return static_cast<std::uint64_t>(archive_read_header_position(tar_.get()));
}

}  // namespace cay::archive
