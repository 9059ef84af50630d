#include "client/context_pack.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "archive/tar_writer.h"
#include "base/unique_fd.h"
#include "client/left_out.h"
#include "dockerfile/ignore.h"

namespace cay::client {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPackedPiece = 64 * 1024;
constexpr std::uint32_t kPermissions = 07777;

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

Error changed_while_sent(const std::string& path) {
  return {Code::kNotReady, "changed", path + " changed while it was sent", 0};
}

}  // namespace

struct ContextPacker::State {
  dockerfile::IgnoreList ignored;
  std::unique_ptr<archive::TarWriter> tar;
  std::vector<Walked> stack;
  // The ignored directories of `stack` that are not packed yet. The first entry that is kept below
  // packs them.
  std::vector<std::pair<std::string, struct stat>> waiting;
  UniqueFd file;  // being packed
  std::string file_name;
  std::uint64_t left = 0;  // of `file`
  bool finished = false;
  sdk::CopyReport report;

  Result<void> header(const std::string& name, const struct stat& facts, const std::string& link) {
    archive::TarHeader header;
    header.name = name;
    header.kind = S_ISDIR(facts.st_mode)   ? archive::TarEntry::Kind::kDirectory
                  : S_ISLNK(facts.st_mode) ? archive::TarEntry::Kind::kSymlink
                                           : archive::TarEntry::Kind::kFile;
    header.mode = facts.st_mode & kPermissions;
    header.mtime_seconds = facts.st_mtim.tv_sec;
    header.mtime_nanoseconds = facts.st_mtim.tv_nsec;
    header.size = S_ISREG(facts.st_mode) ? static_cast<std::uint64_t>(facts.st_size) : 0;
    header.link_target = link;
    CAY_CHECK(tar->add(header));
    ++report.moved.files;
    return {};
  }

  // Packs the ignored directories that the next entry lies in.
  Result<void> pack_parents() {
    for (const auto& [directory, facts] : std::exchange(waiting, {})) {
      CAY_CHECK(header(directory, facts, {}));
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
      leave_out(report, name, kTooDeep);
      return {};
    }
    if (S_ISREG(facts.st_mode)) return add_file(path, name);
    if (!S_ISLNK(facts.st_mode)) {
      leave_out(report, name, kNoFile);
      return {};
    }
    std::error_code unread;
    const std::string link = fs::read_symlink(path, unread).string();
    if (unread) return Error::from_errno(unread.value(), path.string());
    CAY_CHECK(pack_parents());
    return header(name, facts, link);
  }

  Result<void> add_directory(const fs::path& path, const std::string& name,
                             const struct stat& facts, bool stays) {
    if (stays && !ignored.may_keep_below(name)) return {};
    const std::string slashed = name + "/";
    if (stack.size() > kMostDepth || slashed.size() >= kMostPath) {
      leave_out(report, name, kTooDeep);
      return {};
    }
    if (stays) {
      waiting.emplace_back(slashed, facts);
    } else {
      CAY_CHECK(pack_parents());
      CAY_CHECK(header(slashed, facts, {}));
    }
    CAY_TRY(Walked inside, walk(path, slashed));
    stack.push_back(std::move(inside));
    return {};
  }

  Result<void> add_file(const fs::path& path, const std::string& name) {
    // A pipe may have taken the file's place. With O_NONBLOCK the open does not wait for its
    // writer, and fstat reports the type.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd) return Error::from_errno(errno, path.string());
    struct stat facts{};
    if (::fstat(fd.get(), &facts) != 0) return Error::from_errno(errno, path.string());
    if (!S_ISREG(facts.st_mode)) return changed_while_sent(path.string());
    CAY_CHECK(pack_parents());
    CAY_CHECK(header(name, facts, {}));
    file = std::move(fd);
    file_name = path.string();
    left = static_cast<std::uint64_t>(facts.st_size);
    return {};
  }

  Result<void> pump_file() {
    if (left == 0) {
      file.reset();
      return tar->end_entry();
    }
    std::array<char, kPackedPiece> bytes;
    const auto got = ::read(file.get(), bytes.data(), std::min<std::uint64_t>(left, bytes.size()));
    if (got < 0) return Error::from_errno(errno, file_name);
    if (got == 0) return changed_while_sent(file_name);
    CAY_CHECK(tar->write({bytes.data(), static_cast<std::size_t>(got)}));
    left -= static_cast<std::uint64_t>(got);
    report.moved.bytes += static_cast<std::uint64_t>(got);
    return {};
  }

  Result<void> step() {
    if (file) return pump_file();
    if (stack.empty()) {
      finished = true;
      return tar->close();
    }
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
  auto state = std::make_unique<State>();
  CAY_TRY(state->ignored, dockerfile::IgnoreList::parse(ignore));
  CAY_TRY(state->tar, archive::TarWriter::into_memory(archive::TarWriter::Blocks::kOfTape));
  struct stat facts{};
  if (::stat(root.c_str(), &facts) != 0) return Error::from_errno(errno, root.string());
  if (!S_ISDIR(facts.st_mode))
    return Error{Code::kInvalidArgument, "not_a_directory", root.string() + " is no directory", 0};
  CAY_TRY(Walked top, walk(root, {}));
  state->stack.push_back(std::move(top));
  return std::unique_ptr<ContextPacker>(new ContextPacker(std::move(state)));
}

Result<std::string> ContextPacker::next() {
  while (!state_->finished && state_->tar->size() < kPackedPiece) {
    CAY_CHECK(state_->step());
  }
  return state_->tar->take();
}

const sdk::CopyReport& ContextPacker::report() const { return state_->report; }

}  // namespace cay::client
