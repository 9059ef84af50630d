#include "client/tar_pack.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <vector>

#include "archive/tar_writer.h"
#include "base/unique_fd.h"
#include "client/left_out.h"

namespace cay::client {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kChunk = 64 * 1024;

}  // namespace

struct TarPacker::State {
  fs::path root;
  bool single = false;  // root is a file
  std::unique_ptr<archive::TarWriter> tar;
  std::vector<fs::directory_iterator> stack;  // directories being walked
  UniqueFd file;                              // being packed
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
    header.mode = facts.st_mode & 0777;
    header.mtime_seconds = facts.st_mtim.tv_sec;
    header.mtime_nanoseconds = facts.st_mtim.tv_nsec;
    header.size = S_ISREG(facts.st_mode) ? static_cast<std::uint64_t>(facts.st_size) : 0;
    header.link_target = link;
    // Owners stay here: ids of this host mean nothing inside.
    CAY_CHECK(tar->add(header));
    ++report.moved.files;
    return {};
  }

  Result<void> add(const fs::path& path) {
    const std::string name =
        single ? path.filename().string() : path.lexically_relative(root).string();
    struct stat facts{};
    if (stack.size() > kMostDepth) {
      leave_out(report, name, kTooDeep);
      return {};
    }
    const int failed = ::lstat(path.c_str(), &facts) == 0 ? 0 : errno;
    if (name.size() >= kMostPath || failed == ENAMETOOLONG) {
      leave_out(report, name, "its path is longer than 4095 bytes");
      return {};
    }
    if (failed != 0) return Error::from_errno(failed, path.string());
    if (S_ISREG(facts.st_mode)) return add_file(path, name);
    std::string link;
    if (S_ISLNK(facts.st_mode)) {
      std::error_code unread;
      link = fs::read_symlink(path, unread).string();
      if (unread) return Error::from_errno(unread.value(), path.string());
    } else if (!S_ISDIR(facts.st_mode)) {
      leave_out(report, name, kNoFile);
      return {};
    }
    CAY_CHECK(header(name, facts, link));
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

  Result<void> add_file(const fs::path& path, const std::string& name) {
    // A FIFO may have taken the file's place. With O_NONBLOCK the open does not wait for its
    // writer, and fstat reports the type.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd) return Error::from_errno(errno, path.string());
    struct stat facts{};
    if (::fstat(fd.get(), &facts) != 0) return Error::from_errno(errno, path.string());
    if (!S_ISREG(facts.st_mode))
      return Error{Code::kNotReady, "changed", path.string() + " changed while it was copied", 0};
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
    std::array<char, kChunk> bytes;
    const auto got = ::read(file.get(), bytes.data(), std::min<std::uint64_t>(left, bytes.size()));
    if (got < 0) return Error::from_errno(errno, file_name);
    if (got == 0)
      return Error{Code::kNotReady, "changed", file_name + " became shorter while it was copied",
                   0};
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
  auto state = std::make_unique<State>();
  state->root = root;
  CAY_TRY(state->tar, archive::TarWriter::into_memory(archive::TarWriter::Blocks::kOfTape));
  struct stat facts{};
  if (::stat(root.c_str(), &facts) != 0) return Error::from_errno(errno, root.string());
  if (S_ISDIR(facts.st_mode)) {
    CAY_CHECK(state->enter(root));
  } else {
    state->single = true;
    CAY_CHECK(state->add(root));
  }
  return std::unique_ptr<TarPacker>(new TarPacker(std::move(state)));
}

Result<std::string> TarPacker::next() {
  while (!state_->finished && state_->tar->size() < kChunk) {
    CAY_CHECK(state_->step());
  }
  return state_->tar->take();
}

const sdk::CopyReport& TarPacker::report() const { return state_->report; }

}  // namespace cay::client
