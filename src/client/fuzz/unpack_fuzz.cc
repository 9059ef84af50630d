// A sandbox's archive, unpacked on the user's machine. Nothing comes to lie outside its directory.
// Nothing inside leads out of it or is more than a file, a directory or a link.
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "client/tar_unpack.h"
#include "tests/fuzz/pieces.h"
#include "tests/fuzz/tar_sums.h"

namespace {

namespace fs = std::filesystem;

struct Place {
  fs::path root = "/dev/shm/cay-fuzz-unpack-" + std::to_string(::getpid());
  Place() { fs::create_directories(root); }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
};

void expect_inside(const fs::path& target) {
  for (const auto& entry : fs::recursive_directory_iterator(target)) {
    struct stat info{};
    CAY_ASSERT(::lstat(entry.path().c_str(), &info) == 0);
    CAY_ASSERT(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISLNK(info.st_mode));
    CAY_ASSERT((info.st_mode & (S_ISUID | S_ISGID | S_ISVTX)) == 0 &&
               (!S_ISREG(info.st_mode) || info.st_nlink == 1));
    if (!S_ISLNK(info.st_mode)) continue;
    const fs::path led =
        (entry.path().parent_path() / fs::read_symlink(entry.path())).lexically_normal();
    CAY_ASSERT((led / "").native().starts_with((target / "").native()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  if (size == 0) return 0;
  const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string mended = (data[0] & 1) == 0 ? cay::fuzz::with_tar_sums(in) : std::string(in);
  const fs::path target = place.root / "in";
  cay::client::UnpackOptions options;
  options.max_entries = 20;
  const auto pull = [pieces =
                         cay::fuzz::Pieces(mended, data[0])]() mutable -> cay::Result<std::string> {
    return std::string(pieces.next());
  };
  static_cast<void>(cay::client::unpack_tar(target.native(), pull, options));
  std::size_t beside = 0;
  for (const auto& entry : fs::directory_iterator(place.root)) {
    CAY_ASSERT(entry.path() == target);
    ++beside;
  }
  if (beside == 0) return 0;
  expect_inside(target);
  fs::remove_all(target);
  return 0;
}
