#include "image/blob_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "async/deadline.h"
#include "base/sha256.h"
#include "os/file.h"
#include "os/random.h"

namespace cay::image {
namespace {

constexpr std::size_t kPiece = 256 * 1024;
constexpr Millis kLockLook{200};
constexpr std::string_view kPart = ".part";

std::uint64_t size_of(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

}  // namespace

Result<void> write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && (errno == ENOSPC || errno == EDQUOT)) {
      return Error{Code::kExhausted, "disk_full",
                   "the disk of the data directory has no room for the image", errno};
    }
    if (wrote < 0) return Error::from_errno(errno, "write what was fetched");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

archive::TarPull bytes_of(int file) {
  return [file, at = off_t{0}]() mutable -> Result<std::string> {
    std::string piece(kPiece, '\0');
    ssize_t got = -1;
    do {
      got = ::pread(file, piece.data(), piece.size(), at);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return Error::from_errno(errno, "read what was fetched");
    at += got;
    piece.resize(static_cast<std::size_t>(got));
    return piece;
  };
}

Result<BlobStore> BlobStore::open(int directory) {
  CAY_TRY(UniqueFd blobs, os::open_dir(directory, "blobs"));
  return BlobStore(std::move(blobs));
}

void BlobStore::belong_to(std::string_view owner) {
  constexpr std::size_t kOwnerDigits = 16;
  owner_ = sha256_hex(owner).substr(0, kOwnerDigits) + "-";
}

std::string BlobStore::name_of(std::string_view digest) const { return owner_ + hex_of(digest); }

std::string BlobStore::part_of(std::string_view digest) const {
  return name_of(digest) + std::string(kPart);
}

Result<UniqueFd> BlobStore::open_part(std::string_view digest) const {
  UniqueFd file(::openat(blobs_.get(), part_of(digest).c_str(),
                         O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return Error::from_errno(errno, "open a blob's file");
  return file;
}

// Whether the name still leads to this file: another process may have finished it meanwhile.
bool BlobStore::is_named(std::string_view digest, int file) const {
  struct stat named{}, open{};
  return ::fstatat(blobs_.get(), part_of(digest).c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(file, &open) == 0 && named.st_ino == open.st_ino;
}

Result<UniqueFd> BlobStore::find(std::string_view digest, std::uint64_t size) const {
  UniqueFd file(::openat(blobs_.get(), name_of(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return UniqueFd();
  if (!file) return Error::from_errno(errno, "open a blob");
  // A power cut may have left a shorter one.
  if (size_of(file.get()) == size) return file;
  remove(digest);
  return UniqueFd();
}

void BlobStore::remove(std::string_view digest) const {
  ::unlinkat(blobs_.get(), name_of(digest).c_str(), 0);
}

Task<BlobPart> BlobStore::begin(std::string digest, std::uint64_t size) const {
  BlobPart part;
  for (;;) {
    CAY_CO_TRY(const UniqueFd there, find(digest, size));
    if (there) co_return std::move(part);
    CAY_CO_TRY(part.file, open_part(digest));
    if (::flock(part.file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_named(digest, part.file.get())) break;
      continue;
    }
    part.file = UniqueFd();
    co_await sleep_for(kLockLook);
  }
  auto pull = bytes_of(part.file.get());
  for (;;) {
    CAY_CO_TRY(const std::string piece, pull());
    if (piece.empty()) break;
    part.digest.update(piece);
    part.size += piece.size();
  }
  if (part.size > size) {
    CAY_CO_TRY(part, begin_again(digest));
  }
  co_return std::move(part);
}

Result<BlobPart> BlobStore::begin_again(std::string_view digest) const {
  ::unlinkat(blobs_.get(), part_of(digest).c_str(), 0);
  BlobPart part;
  CAY_TRY(part.file, open_part(digest));
  ::flock(part.file.get(), LOCK_EX | LOCK_NB);
  return part;
}

Result<void> BlobStore::add(BlobPart& part, std::string_view bytes) const {
  CAY_CHECK(write_all(part.file.get(), bytes));
  part.digest.update(bytes);
  part.size += bytes.size();
  return {};
}

Result<void> BlobStore::finish(BlobPart part, std::string_view digest) const {
  const std::string found = part.digest.text();
  if (found != digest) {
    ::unlinkat(blobs_.get(), part_of(digest).c_str(), 0);
    return Error{Code::kInvalidArgument, "digest_mismatch",
                 "a part of the image has the digest " + found + " and not " + std::string(digest) +
                     ", which names it: pull it again",
                 0};
  }
  if (::renameat(blobs_.get(), part_of(digest).c_str(), blobs_.get(), name_of(digest).c_str()) != 0)
    return Error::from_errno(errno, "keep a blob");
  return {};
}

Result<UniqueFd> BlobStore::temporary() const {
  constexpr std::size_t kRandom = 8;
  CAY_TRY(const std::string random, os::random_bytes(kRandom));
  std::string name = "tmp";
  for (const char c : random) name += std::to_string(static_cast<unsigned char>(c));
  UniqueFd file(::openat(blobs_.get(), name.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return Error::from_errno(errno, "make a file");
  ::unlinkat(blobs_.get(), name.c_str(), 0);
  return file;
}

void BlobStore::trim(std::uint64_t bytes) const {
  struct Blob {
    std::int64_t seconds;
    std::uint64_t size;
    std::string name;
  };
  const auto names = os::list_dir(blobs_.get());
  if (!names) return;
  std::vector<Blob> all;
  std::uint64_t sum = 0;
  for (const std::string& name : *names) {
    struct stat info{};
    if (::fstatat(blobs_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    all.push_back({info.st_mtim.tv_sec, static_cast<std::uint64_t>(info.st_size), name});
    sum += all.back().size;
  }
  std::sort(all.begin(), all.end(),
            [](const Blob& a, const Blob& b) { return a.seconds < b.seconds; });
  for (const Blob& blob : all) {
    if (sum <= bytes) break;
    sum -= blob.size;
    ::unlinkat(blobs_.get(), blob.name.c_str(), 0);
  }
}

}  // namespace cay::image
