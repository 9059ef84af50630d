#include "server/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace cay::server {
namespace {

constexpr std::string_view kEnding = ".log";

UniqueFd open_lines(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
}

}  // namespace

Result<LineFile> LineFile::open(std::string path, Limits limits) {
  UniqueFd fd = open_lines(path);
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return Error::from_errno(errno, "open " + path);
  char last = '\n';
  if (info.st_size > 0) (void)!::pread(fd.get(), &last, 1, info.st_size - 1);
  return LineFile(std::move(path), limits, std::move(fd), static_cast<std::uint64_t>(info.st_size),
                  last != '\n');
}

std::string LineFile::older(std::size_t number) const {
  const std::string base =
      path_.ends_with(kEnding) ? path_.substr(0, path_.size() - kEnding.size()) : path_;
  return base + "." + std::to_string(number) + path_.substr(base.size());
}

// If the file cannot be moved, it grows on.
void LineFile::turn_over() {
  const std::string made = path_ + ".new";
  ::unlink(made.c_str());
  UniqueFd fresh = open_lines(made);
  if (!fresh) return;
  for (std::size_t number = limits_.older; number > 1; --number)
    ::rename(older(number - 1).c_str(), older(number).c_str());
  if (limits_.older > 0) ::rename(path_.c_str(), older(1).c_str());
  if (::rename(made.c_str(), path_.c_str()) != 0) return;
  fd_ = std::move(fresh);
  torn_ = false;
}

Result<void> LineFile::look() {
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0) return Error::from_errno(errno, "look at the log");
  size_ = static_cast<std::uint64_t>(info.st_size);
  return {};
}

Result<void> LineFile::append(std::string_view line) {
  const auto is_full = [&] { return size_ > 0 && size_ + line.size() >= limits_.bytes; };
  if (is_full()) {
    CAY_CHECK(look());
    if (is_full()) {
      turn_over();
      CAY_CHECK(look());
    }
  }
  std::string bytes = torn_ ? "\n" : "";
  bytes += line;
  bytes += '\n';
  ssize_t written = 0;
  while ((written = ::write(fd_.get(), bytes.data(), bytes.size())) < 0 && errno == EINTR) {
  }
  if (written == static_cast<ssize_t>(bytes.size())) {
    size_ += bytes.size();
    torn_ = false;
    return {};
  }
  const int err = written < 0 ? errno : ENOSPC;  // a part of it: there was no room for the rest
  if (written > 0) {
    const auto part = static_cast<std::uint64_t>(written);
    const bool undone =
        look() && size_ >= part && ::ftruncate(fd_.get(), static_cast<off_t>(size_ - part)) == 0;
    if (!undone) torn_ = true;
  }
  return Error::from_errno(err, "write a line");
}

}  // namespace cay::server
