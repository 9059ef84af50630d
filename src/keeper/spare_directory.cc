#include "keeper/spare_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "wire/spool_layout.h"

namespace cay::keeper {
namespace {

constexpr const char* kSpareName = ".spare";  // no command's: theirs begin with no dot

}  // namespace

void SpareDirectory::prepare() {
  if (dir_) return;
  if (::mkdirat(spool_, kSpareName, 0750) != 0 && errno != EEXIST) return;
  UniqueFd dir(::openat(spool_, kSpareName, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!dir) return;
  record_.reset(::openat(dir.get(), wire::kSpoolRecord,
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (record_) dir_ = std::move(dir);
}

UniqueFd SpareDirectory::take(const std::string& id, const std::string& record) {
  ++taken_;
  if (!dir_) return {};
  const UniqueFd file = std::move(record_);
  UniqueFd dir = std::move(dir_);
  const bool whole =
      ::write(file.get(), record.data(), record.size()) == static_cast<ssize_t>(record.size());
  if (whole && ::renameat2(spool_, kSpareName, spool_, id.c_str(), RENAME_NOREPLACE) == 0)
    return dir;
  return {};
}

}  // namespace cay::keeper
