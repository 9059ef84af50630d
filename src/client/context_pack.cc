#include "client/context_pack.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "client/left_out.h"
#include "client/local_tar.h"
#include "dockerfile/ignore.h"

namespace cay::client {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kChanged = "changed while it was sent";
constexpr LocalTar::Rules kSent{.permissions = 07777, .changed = kChanged, .shorter = kChanged};

// A directory that is being walked: its entries that are still to come, the last one first.
struct Walked {
  fs::path path;
  std::string name;  // in the archive, with a '/' at its end; empty: the root
  std::vector<std::string> entries;
};

Result<Walked> walk(const fs::path& path, std::string name) {
  std::error_code failed;
  Walked out{.path = path, .name = std::move(name), .entries = {}};
  for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed))
    out.entries.push_back(it->path().filename().string());
  if (failed) return Error::from_errno(failed.value(), path.string());
  std::ranges::sort(out.entries, std::ranges::greater());
  return out;
}

}  // namespace

struct ContextPacker::State {
  dockerfile::IgnoreList ignored;
  LocalTar tar;
  std::vector<Walked> stack{};
  // The ignored directories of `stack` that are not packed yet. The first entry that is kept below
  // packs them.
  std::vector<std::pair<std::string, struct stat>> waiting{};

  // Packs the ignored directories that the next entry lies in.
  Result<void> pack_parents() {
    for (const auto& [directory, facts] : std::exchange(waiting, {})) {
      CAY_CHECK(tar.add(directory, facts, {}));
    }
    return {};
  }

  Result<void> add(const fs::path& path, const std::string& name) {
    struct stat facts{};
    if (::lstat(path.c_str(), &facts) != 0) return Error::from_errno(errno, path.string());
    const bool stays = ignored.ignores(name);
    if (S_ISDIR(facts.st_mode)) return add_directory(path, name, facts, stays);
    if (stays) return {};
    if (stack.size() > kMostDepth || name.size() >= kMostPath) {
      leave_out(tar.report(), name, kTooDeep);
      return {};
    }
    if (S_ISREG(facts.st_mode)) return add_file(path, name);
    if (!S_ISLNK(facts.st_mode)) {
      leave_out(tar.report(), name, kNoFile);
      return {};
    }
    CAY_TRY(const std::string link, link_target(path));
    CAY_CHECK(pack_parents());
    return tar.add(name, facts, link);
  }

  Result<void> add_directory(const fs::path& path, const std::string& name,
                             const struct stat& facts, bool stays) {
    if (stays && !ignored.may_keep_below(name)) return {};
    const std::string slashed = name + "/";
    if (stack.size() > kMostDepth || slashed.size() >= kMostPath) {
      leave_out(tar.report(), name, kTooDeep);
      return {};
    }
    if (stays) {
      waiting.emplace_back(slashed, facts);
    } else {
      CAY_CHECK(pack_parents());
      CAY_CHECK(tar.add(slashed, facts, {}));
    }
    CAY_TRY(Walked inside, walk(path, slashed));
    stack.push_back(std::move(inside));
    return {};
  }

  Result<void> add_file(const fs::path& path, const std::string& name) {
    CAY_TRY(auto file, tar.open_file(path));
    CAY_CHECK(pack_parents());
    return tar.add_file(name, std::move(file));
  }

  Result<void> step() {
    if (tar.in_file()) return tar.pump();
    if (stack.empty()) return tar.close();
    Walked& top = stack.back();
    if (top.entries.empty()) {
      std::erase_if(waiting, [&](const auto& one) { return one.first == top.name; });
      stack.pop_back();
      return {};
    }
    const std::string entry = std::move(top.entries.back());
    top.entries.pop_back();
    return add(top.path / entry, top.name + entry);
  }
};

ContextPacker::ContextPacker(std::unique_ptr<State> state) : state_(std::move(state)) {}
ContextPacker::~ContextPacker() = default;

Result<std::unique_ptr<ContextPacker>> ContextPacker::open(const fs::path& root,
                                                           std::string_view ignore) {
  CAY_TRY(auto ignored, dockerfile::IgnoreList::parse(ignore));
  CAY_TRY(auto tar, LocalTar::create(kSent));
  struct stat facts{};
  if (::stat(root.c_str(), &facts) != 0) return Error::from_errno(errno, root.string());
  if (!S_ISDIR(facts.st_mode))
    return Error{Code::kInvalidArgument, "not_a_directory", root.string() + " is no directory", 0};
  CAY_TRY(Walked top, walk(root, {}));
  std::unique_ptr<State> state(new State{.ignored = std::move(ignored), .tar = std::move(tar)});
  state->stack.push_back(std::move(top));
  return std::unique_ptr<ContextPacker>(new ContextPacker(std::move(state)));
}

Result<std::string> ContextPacker::next() {
  return state_->tar.next([this] { return state_->step(); });
}

const sdk::CopyReport& ContextPacker::report() const { return state_->tar.report(); }

}  // namespace cay::client
