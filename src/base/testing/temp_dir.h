// TempDir: a fresh directory below the system's temporary one. Destroying it removes it with all
// that is in it. For tests.
#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/unique_fd.h"

namespace cay::testing {

// Declare it before whatever holds something in it open.
class TempDir {
 public:
  // Throws when it cannot be made.
  explicit TempDir(mode_t mode = 0700)
      : path_((std::filesystem::temp_directory_path() / "cay-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr || ::chmod(path_.c_str(), mode) != 0) fail("make");
  }
  ~TempDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error)
      std::fprintf(stderr, "cannot remove %s: %s\n", path_.c_str(), error.message().c_str());
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // A descriptor of it. Throws when it cannot be opened.
  UniqueFd open() const {
    UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) fail("open");
    return fd;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw std::system_error(errno, std::generic_category(),
                            std::string("cannot ") + what + " " + path_);
  }
  std::string path_;
};

}  // namespace cay::testing
