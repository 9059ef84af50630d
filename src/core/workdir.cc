#include "core/workdir.h"

#include <string>
#include <utility>

#include "core/errors.h"
#include "model/ids.h"

namespace cay::core {
namespace {

constexpr std::uint32_t kMode = 0755;
constexpr std::uint32_t kAnybodyWrites = 0777;

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// Makes it below a directory that `owner` may not write to. Files belong to the user that makes
// them: `owner` makes the directory where anybody may write, and root moves it into place.
Task<void> make_by_root(std::shared_ptr<LiveSandbox> live, std::string path, FileAs owner) {
  const FileAs root;
  const std::string parent = parent_of(path);
  CAY_CO_CHECK(co_await live->make_directory(parent, root, kMode));
  const std::string open = (parent == "/" ? std::string() : parent) + "/.cay-" + new_uuid();
  const std::string fresh = open + "/workdir";
  CAY_CO_CHECK(co_await live->make_directory(open, root, kAnybodyWrites));
  auto made = co_await live->make_directory(fresh, std::move(owner), kMode);
  if (made) {
    made = co_await live->rename(fresh, path, root);
  }
  auto removed = co_await live->remove(open, root, true);
  static_cast<void>(removed);  // an empty directory is left at worst
  co_return made;
}

Task<void> make(std::shared_ptr<LiveSandbox> live, std::string path, FileAs as) {
  const auto found = co_await live->stat(path, as, true);
  if (found) {
    if (found->kind == FileKind::kDirectory) co_return Result<void>();
    co_return invalid("bad_cwd", path + " is no directory");
  }
  if (found.error().code != Code::kNotFound) co_return found.error();
  auto made = co_await live->make_directory(path, as, kMode);
  const bool by_root = !made && made.error().code == Code::kPermissionDenied && !as.user.empty();
  if (!by_root) co_return made;
  made = co_await make_by_root(std::move(live), std::move(path), std::move(as));
  co_return made;
}

}  // namespace

Task<void> make_workdir(std::shared_ptr<LiveSandbox> live, RunConfig run) {
  if (!run.workdir) co_return Result<void>();
  FileAs as;
  as.user = run.user.value_or("");
  auto made = co_await make(std::move(live), *run.workdir, std::move(as));
  if (!made) co_return std::move(made).error().while_doing("make the working directory");
  co_return made;
}

}  // namespace cay::core
