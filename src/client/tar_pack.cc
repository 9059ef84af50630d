#include "client/tar_pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <new>
#include <vector>

#include "base/unique_fd.h"
#include "base/utf8_locale.h"
#include "client/left_out.h"

namespace cay::client {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kChunk = 64 * 1024;

struct ArchiveFree {
  void operator()(archive* it) const { archive_write_free(it); }
};
struct EntryFree {
  void operator()(archive_entry* it) const { archive_entry_free(it); }
};

la_ssize_t append(archive* /*self*/, void* to, const void* bytes, std::size_t size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

}  // namespace

struct TarPacker::State {
  fs::path root;
  bool single = false;  // root is a file
  std::string buffer;
  std::unique_ptr<archive, ArchiveFree> tar;
  std::vector<fs::directory_iterator> stack;  // directories being walked
  UniqueFd file;                              // being packed
  std::string file_name;
  std::uint64_t left = 0;  // of `file`
  bool finished = false;
  sdk::CopyReport report;

  Error tar_error() const {
    return {Code::kInternal, "tar_error",
            std::string("cannot make the archive: ") + archive_error_string(tar.get()), 0};
  }

  Result<void> header(const std::string& name, const struct stat& facts, const std::string& link) {
    std::unique_ptr<archive_entry, EntryFree> entry(archive_entry_new());
    if (!entry) throw std::bad_alloc();
    archive_entry_copy_pathname(entry.get(), name.c_str());
    archive_entry_set_mode(entry.get(), (facts.st_mode & S_IFMT) | (facts.st_mode & 0777));
    archive_entry_set_mtime(entry.get(), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    archive_entry_set_size(entry.get(), S_ISREG(facts.st_mode) ? facts.st_size : 0);
    if (S_ISLNK(facts.st_mode)) archive_entry_copy_symlink(entry.get(), link.c_str());
    // Owners stay here: ids of this host mean nothing inside.
    archive_entry_set_uid(entry.get(), 0);
    archive_entry_set_gid(entry.get(), 0);
    const Utf8Locale locale;
    // A warning: a name that is no UTF-8 went in as the bytes it is.
    if (archive_write_header(tar.get(), entry.get()) < ARCHIVE_WARN) return tar_error();
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
    // O_NONBLOCK: a FIFO put there meanwhile must not hang us; fstat then tells.
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
      if (archive_write_finish_entry(tar.get()) < ARCHIVE_WARN) return tar_error();
      return {};
    }
    std::array<char, kChunk> bytes;
    const auto got = ::read(file.get(), bytes.data(), std::min<std::uint64_t>(left, bytes.size()));
    if (got < 0) return Error::from_errno(errno, file_name);
    if (got == 0)
      return Error{Code::kNotReady, "changed", file_name + " became shorter while it was copied",
                   0};
    if (archive_write_data(tar.get(), bytes.data(), static_cast<std::size_t>(got)) != got)
      return tar_error();
    left -= static_cast<std::uint64_t>(got);
    report.moved.bytes += static_cast<std::uint64_t>(got);
    return {};
  }

  Result<void> step() {
    if (file) return pump_file();
    if (stack.empty()) {
      finished = true;
      if (archive_write_close(tar.get()) < ARCHIVE_WARN) return tar_error();
      return {};
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
  state->tar.reset(archive_write_new());
  if (!state->tar) throw std::bad_alloc();
  archive_write_set_format_pax_restricted(state->tar.get());
  archive_write_set_bytes_in_last_block(state->tar.get(), 1);
  if (archive_write_open(state->tar.get(), &state->buffer, nullptr, &append, nullptr) !=
      ARCHIVE_OK) {
    return state->tar_error();
  }
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
  while (!state_->finished && state_->buffer.size() < kChunk) {
    CAY_CHECK(state_->step());
  }
  return std::exchange(state_->buffer, {});
}

const sdk::CopyReport& TarPacker::report() const { return state_->report; }

}  // namespace cay::client
