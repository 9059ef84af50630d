#include "keeper/file_walk.h"

#include <fcntl.h>
#include <sys/vfs.h>

#include "keeper/file_names.h"
#include "keeper/file_paths.h"
#include "keeper/glob_pattern.h"
#include "keeper/loop.h"

namespace cay::keeper {
namespace {

constexpr std::uint32_t kDefaultLimit = 10'000;
constexpr std::int64_t kDefaultDeadlineMs = 30'000;
constexpr std::size_t kMostWalkDepth = 500;  // each level holds a descriptor
constexpr long kProcMagic = 0x9fa0;
constexpr long kSysMagic = 0x62656572;

}  // namespace

FileWalk FileWalk::of(FileChannel& channel, const wire::FileOp& op) {
  const std::int64_t allowed = op.deadline_ms > 0 ? op.deadline_ms : kDefaultDeadlineMs;
  return {channel, monotonic_ms() + allowed, op.limit > 0 ? op.limit : kDefaultLimit};
}

bool FileWalk::over() {
  channel.heartbeat();
  if (monotonic_ms() >= until) truncated = true;
  return truncated;
}

std::string FileWalk::relative() const {
  std::string out;
  for (const auto& part : path) out += out.empty() ? part : "/" + part;
  return out;
}

void FileWalk::run(int dir, const Visit& visit, const std::function<bool()>& descend) {
  auto names = names_in(dir, {});
  if (!names) return;  // what may not be read holds no matches for this user
  for (const std::string& name : *names) {
    if (over()) return;
    struct stat info{};
    if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    path.push_back(name);
    visit(dir, name, info);
    if (S_ISDIR(info.st_mode) && path.size() < kMostWalkDepth && !truncated && descend()) {
      const auto sub =
          open_path(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, {});
      if (sub) run(sub->get(), visit, descend);
    }
    path.pop_back();
  }
}

Result<void> FileWalk::run_files(const wire::FileOp& op, const VisitFile& visit) {
  const std::string shown = shown_path(op, op.path);
  CAY_TRY(const UniqueFd root,
          open_path(AT_FDCWD, op.path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK, shown));
  const std::string prefix = shown.ends_with('/') ? shown : shown + "/";
  const bool by_path = op.file_glob.find('/') != std::string::npos;
  const GlobPattern paths(op.file_glob);
  run(
      root.get(),
      [&](int dir, const std::string& name, const struct stat& entry) {
        if (!S_ISREG(entry.st_mode)) return;
        if (!op.file_glob.empty() &&
            !(by_path ? paths.matches(path) : matches_name(op.file_glob, name)))
          return;
        visit(dir, name, prefix + relative());
      },
      [] { return true; });
  return {};
}

bool made_up_by_kernel(int fd) {
  struct statfs fs{};
  return ::fstatfs(fd, &fs) != 0 || fs.f_type == kProcMagic || fs.f_type == kSysMagic;
}

}  // namespace cay::keeper
