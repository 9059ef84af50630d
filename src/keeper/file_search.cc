// glob and grep: one walk, never through symbolic links, bounded by a limit and a deadline.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "keeper/file_error.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"
#include "keeper/file_walk.h"
#include "keeper/glob_pattern.h"
#include "keeper/text.h"

namespace cay::keeper {
namespace {

constexpr std::size_t kTextLimit = 4096;
constexpr std::size_t kLineLimit = 1024 * 1024;  // a longer line is searched in pieces of this size

// Every line of `file` that holds `text`.
void search_file(int file, const std::string& text, FileWalk& walk, const std::string& shown,
                 std::uint32_t& found) {
  std::string held;  // the line so far
  std::uint64_t line = 0;
  bool first = true;
  std::vector<char> buffer(wire::kDataChunk);
  const auto test = [&](std::string_view whole) {
    ++line;
    if (whole.find(text) == std::string_view::npos) return;
    if (found >= walk.limit) {
      walk.truncated = true;
      return;
    }
    ++found;
    if (whole.ends_with('\r')) whole.remove_suffix(1);
    walk.channel.send(wire::Type::kGrepMatch,
                      wire::GrepMatchMsg{shown, line, valid_utf8(whole, kTextLimit)});
  };
  while (!walk.over()) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    std::string_view in(buffer.data(), static_cast<std::size_t>(got));
    if (std::exchange(first, false) &&
        in.substr(0, kBinarySniff).find('\0') != std::string_view::npos)
      return;
    while (!in.empty() && !walk.truncated) {
      const std::size_t end = in.find('\n');
      if (end == std::string_view::npos) {
        if (held.size() > kLineLimit) return;  // no text file has such lines
        held += in;
        break;
      }
      if (held.empty()) {
        test(in.substr(0, end));
      } else {
        held += in.substr(0, end);
        test(held);
        held.clear();
      }
      in.remove_prefix(end + 1);
    }
  }
  if (!held.empty() && !walk.truncated) test(held);
}

}  // namespace

Result<void> glob_files(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  CAY_TRY(const UniqueFd root,
          open_path(AT_FDCWD, op.path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK, shown));
  const GlobPattern pattern(op.pattern);
  const std::string prefix = shown.ends_with('/') ? shown : shown + "/";
  std::vector<wire::FileInfoMsg> matches;
  FileWalk walk = FileWalk::of(channel, op);
  walk.run(
      root.get(),
      [&](int dir, const std::string& name, const struct stat& info) {
        if (!pattern.matches(walk.path)) return;
        if (matches.size() >= walk.limit) {
          walk.truncated = true;
          return;
        }
        matches.push_back(info_of(prefix + walk.relative(), info, dir, name.c_str()));
      },
      [&] { return pattern.may_contain(walk.path); });
  std::sort(matches.begin(), matches.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  for (const auto& match : matches) channel.hold(wire::Type::kFileInfo, wire::encode(match));
  channel.send(wire::Type::kEof, wire::Eof{walk.truncated});
  return {};
}

Result<void> grep_files(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  if (op.pattern.empty()) {
    return Error{Code::kInvalidArgument, "bad_pattern", "the text to search for is empty", 0};
  }
  struct stat info{};
  CAY_CHECK(stat_path(AT_FDCWD, op.path.c_str(), true, info, shown));
  FileWalk walk = FileWalk::of(channel, op);
  std::uint32_t found = 0;
  if (!S_ISDIR(info.st_mode)) {
    CAY_TRY(auto file, open_regular(AT_FDCWD, op.path.c_str(), shown, false, info));
    search_file(file.get(), op.pattern, walk, shown, found);
  } else {
    CAY_CHECK(walk.run_files(op, [&](int dir, const std::string& name, const std::string& path) {
      struct stat opened{};
      auto file = open_regular(dir, name.c_str(), path, true, opened);
      if (file && !made_up_by_kernel(file->get()))
        search_file(file->get(), op.pattern, walk, path, found);
    }));
  }
  channel.send(wire::Type::kEof, wire::Eof{walk.truncated});
  return {};
}

}  // namespace cay::keeper
