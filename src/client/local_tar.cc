#include "client/local_tar.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cay::client {
namespace {

namespace fs = std::filesystem;

Error changed(const std::string& path, std::string_view how) {
  return {Code::kNotReady, "changed", path + " " + std::string(how), 0};
}

}  // namespace

Result<LocalTar> LocalTar::create(Rules rules) {
  CAY_TRY(auto tar, archive::TarWriter::into_memory(archive::TarWriter::Blocks::kOfTape));
  return LocalTar(rules, std::move(tar));
}

Result<void> LocalTar::add(const std::string& name, const struct stat& facts,
                           const std::string& link) {
  archive::TarHeader header;
  header.name = name;
  header.kind = S_ISDIR(facts.st_mode)   ? archive::TarEntry::Kind::kDirectory
                : S_ISLNK(facts.st_mode) ? archive::TarEntry::Kind::kSymlink
                                         : archive::TarEntry::Kind::kFile;
  header.mode = facts.st_mode & rules_.permissions;
  header.mtime_seconds = facts.st_mtim.tv_sec;
  header.mtime_nanoseconds = facts.st_mtim.tv_nsec;
  header.size = S_ISREG(facts.st_mode) ? static_cast<std::uint64_t>(facts.st_size) : 0;
  header.link_target = link;
  CAY_CHECK(tar_->add(header));
  ++report_.moved.files;
  return {};
}

Result<LocalTar::OpenFile> LocalTar::open_file(const fs::path& path) const {
  // A FIFO may have taken the file's place. With O_NONBLOCK the open does not wait for its writer,
  // and fstat reports the type.
  OpenFile out;
  out.path = path.string();
  out.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!out.fd) return Error::from_errno(errno, out.path);
  if (::fstat(out.fd.get(), &out.facts) != 0) return Error::from_errno(errno, out.path);
  if (!S_ISREG(out.facts.st_mode)) return changed(out.path, rules_.changed);
  return out;
}

Result<void> LocalTar::add_file(const std::string& name, OpenFile file) {
  CAY_CHECK(add(name, file.facts, {}));
  left_ = static_cast<std::uint64_t>(file.facts.st_size);
  file_ = std::move(file);
  return {};
}

Result<void> LocalTar::pump() {
  if (left_ == 0) {
    file_.fd.reset();
    return tar_->end_entry();
  }
  std::array<char, kPiece> bytes;
  const auto got =
      ::read(file_.fd.get(), bytes.data(), std::min<std::uint64_t>(left_, bytes.size()));
  if (got < 0) return Error::from_errno(errno, file_.path);
  if (got == 0) return changed(file_.path, rules_.shorter);
  CAY_CHECK(tar_->write({bytes.data(), static_cast<std::size_t>(got)}));
  left_ -= static_cast<std::uint64_t>(got);
  report_.moved.bytes += static_cast<std::uint64_t>(got);
  return {};
}

Result<void> LocalTar::close() {
  closed_ = true;
  return tar_->close();
}

Result<std::string> link_target(const fs::path& path) {
  std::error_code unread;
  const std::string link = fs::read_symlink(path, unread).string();
  if (unread) return Error::from_errno(unread.value(), path.string());
  return link;
}

}  // namespace cay::client
