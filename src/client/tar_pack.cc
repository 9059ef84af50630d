#include "client/tar_pack.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "client/left_out.h"
#include "client/local_tar.h"

namespace cay::client {

namespace fs = std::filesystem;

namespace {

constexpr LocalTar::Rules kCopied{.permissions = 0777,
                                  .changed = "changed while it was copied",
                                  .shorter = "became shorter while it was copied"};

}  // namespace

struct TarPacker::State {
  fs::path root;
  bool single;  // root is a file
  LocalTar tar;
  std::vector<fs::directory_iterator> stack{};  // directories being walked

  Result<void> add(const fs::path& path) {
    const std::string name =
        single ? path.filename().string() : path.lexically_relative(root).string();
    struct stat facts{};
    if (stack.size() > kMostDepth) {
      leave_out(tar.report(), name, kTooDeep);
      return {};
    }
    const int failed = ::lstat(path.c_str(), &facts) == 0 ? 0 : errno;
    if (name.size() >= kMostPath || failed == ENAMETOOLONG) {
      leave_out(tar.report(), name, "its path is longer than 4095 bytes");
      return {};
    }
    if (failed != 0) return Error::from_errno(failed, path.string());
    if (S_ISREG(facts.st_mode)) {
      CAY_TRY(auto file, tar.open_file(path));
      return tar.add_file(name, std::move(file));
    }
    std::string link;
    if (S_ISLNK(facts.st_mode)) {
      CAY_TRY(link, link_target(path));
    } else if (!S_ISDIR(facts.st_mode)) {
      leave_out(tar.report(), name, kNoFile);
      return {};
    }
    CAY_CHECK(tar.add(name, facts, link));
    if (!S_ISDIR(facts.st_mode)) return {};
    return enter(path);
  }

  Result<void> enter(const fs::path& directory) {
    std::error_code failed;
    fs::directory_iterator inside(directory, failed);
    if (failed) return Error::from_errno(failed.value(), directory.string());
    stack.push_back(std::move(inside));
    return {};
  }

  Result<void> step() {
    if (tar.in_file()) return tar.pump();
    if (stack.empty()) return tar.close();
    if (stack.back() == fs::directory_iterator()) {
      stack.pop_back();
      return {};
    }
    const fs::path path = stack.back()->path();
    std::error_code failed;
    stack.back().increment(failed);
    if (failed) return Error::from_errno(failed.value(), path.parent_path().string());
    return add(path);
  }
};

TarPacker::TarPacker(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarPacker::~TarPacker() = default;

Result<std::unique_ptr<TarPacker>> TarPacker::open(const fs::path& root) {
  CAY_TRY(auto tar, LocalTar::create(kCopied));
  struct stat facts{};
  if (::stat(root.c_str(), &facts) != 0) return Error::from_errno(errno, root.string());
  const bool single = !S_ISDIR(facts.st_mode);
  std::unique_ptr<State> state(new State{.root = root, .single = single, .tar = std::move(tar)});
  CAY_CHECK(single ? state->add(root) : state->enter(root));
  return std::unique_ptr<TarPacker>(new TarPacker(std::move(state)));
}

Result<std::string> TarPacker::next() {
  return state_->tar.next([this] { return state_->step(); });
}

const sdk::CopyReport& TarPacker::report() const { return state_->tar.report(); }

}  // namespace cay::client
