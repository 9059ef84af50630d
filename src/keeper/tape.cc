#include "keeper/tape.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "keeper/command_state.h"
#include "wire/spool_layout.h"

namespace cay::keeper {
namespace {

constexpr std::size_t kArgvInMemory = 2048;      // longer ones are read back from the record
constexpr std::size_t kRecordLimit = 1024 * 1024;

// Appends, in one write. What a full disk let through only in part is taken back.
bool append_record(int dir, const wire::CommandMsg& message, bool first) {
  const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (first ? O_CREAT | O_TRUNC : 0);
  UniqueFd file(::openat(dir, wire::kSpoolRecord, flags, 0640));
  if (!file) return false;
  const std::string bytes = wire::encode(message);
  const off_t before = first ? 0 : ::lseek(file.get(), 0, SEEK_END);
  for (;;) {
    const ssize_t got = ::write(file.get(), bytes.data(), bytes.size());
    if (got == static_cast<ssize_t>(bytes.size())) return true;
    if (got < 0 && errno == EINTR) continue;
    const int err = got < 0 ? errno : ENOSPC;
    [[maybe_unused]] const int cut = ::ftruncate(file.get(), before);
    errno = err;
    return false;
  }
}

std::optional<wire::CommandMsg> read_record(int dir) {
  UniqueFd file(::openat(dir, wire::kSpoolRecord, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  std::string bytes;
  char chunk[16 * 1024];
  while (bytes.size() < kRecordLimit) {
    const ssize_t got = ::read(file.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
  return wire::decode<wire::CommandMsg>(bytes);
}

std::uint64_t size_of_file(int dir, const char* name) {
  struct stat info{};
  const bool there = ::fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
  return there ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// The keeper that ran it died before it could record an end; what is in the files is its output.
void record_lost(int dir, wire::CommandMsg& record) {
  record.out = wire::settled(record.out, size_of_file(dir, wire::kSpoolOut), true);
  record.err = wire::settled(record.err, size_of_file(dir, wire::kSpoolErr), true);
  record.state = static_cast<std::uint8_t>(CommandState::kLost);
  record.reason = "keeper lost: the sandbox ended before the end of the command was recorded";
  wire::CommandMsg news = record;
  news.argv = {};
  // A disk that refuses now is asked again by the next who looks.
  static_cast<void>(append_record(dir, news, false));
}

std::size_t size_of(const std::vector<std::string>& argv) {
  std::size_t total = 0;
  for (const auto& arg : argv) total += arg.size() + sizeof(std::string);
  return total;
}

}  // namespace

bool valid_command_id(std::string_view id) {
  if (id.empty() || id.size() > 128 || id.front() == '.') return false;
  for (const char c : id) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    if (!fine) return false;
  }
  return true;
}

Tape::Tape(UniqueFd dir, wire::CommandMsg message, std::uint64_t limit, SpoolBudget* budget)
    : about(std::move(message)),
      out(dir.get(), wire::kSpoolOut, limit, budget),
      err(dir.get(), wire::kSpoolErr, limit, budget),
      dir_(std::move(dir)) {}

Tape::Tape(UniqueFd dir, wire::CommandMsg message)
    : about(std::move(message)),
      out(dir.get(), wire::kSpoolOut, about.out),
      err(dir.get(), wire::kSpoolErr, about.err),
      dir_(std::move(dir)),
      ended_(true) {}

Result<std::shared_ptr<Tape>> Tape::create(int spool, wire::CommandMsg message, std::uint64_t limit,
                                           SpoolBudget* budget) {
  // 0750 by our umask-free wish: the daemon's group reads the spools of stopped sandboxes.
  bool made = ::mkdirat(spool, message.command_id.c_str(), 0750) == 0;
  if (!made && errno == EEXIST) {  // one without a readable record, or it would have been found
    erase(spool, message.command_id);
    made = ::mkdirat(spool, message.command_id.c_str(), 0750) == 0;
  }
  if (!made) {
    return Error::from_errno(errno, "make the command's spool directory", "spool_unusable");
  }
  UniqueFd dir(::openat(spool, message.command_id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!dir) return Error::from_errno(errno, "open the command's spool directory", "spool_unusable");
  if (!append_record(dir.get(), message, true)) {
    const int err = errno;
    erase(spool, message.command_id);
    return Error::from_errno(err, "write the command's record (is the data directory's disk full?)",
                             "spool_unusable");
  }
  std::shared_ptr<Tape> tape(new Tape(std::move(dir), std::move(message), limit, budget));
  if (size_of(tape->about.argv) > kArgvInMemory) {
    tape->about.argv = {};
    tape->argv_on_disk_ = true;
  }
  return tape;
}

Result<std::shared_ptr<Tape>> Tape::load(int spool, const std::string& id) {
  UniqueFd dir(::openat(spool, id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  std::optional<wire::CommandMsg> message;
  if (dir) message = read_record(dir.get());
  if (!message) {
    return Error{Code::kLost, "record_lost", "the record of command " + id + " cannot be read from its spool", errno};
  }
  if (message->state == static_cast<std::uint8_t>(CommandState::kRunning)) record_lost(dir.get(), *message);
  return std::shared_ptr<Tape>(new Tape(std::move(dir), std::move(*message)));
}

std::uint64_t Tape::bytes_on_disk(int spool, const std::string& id) {
  UniqueFd dir(::openat(spool, id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  return dir ? size_of_file(dir.get(), wire::kSpoolOut) + size_of_file(dir.get(), wire::kSpoolErr) : 0;
}

void Tape::erase(int spool, const std::string& id) {
  UniqueFd dir(::openat(spool, id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (dir) {
    for (const char* name : {wire::kSpoolOut, wire::kSpoolErr, wire::kSpoolRecord}) {
      ::unlinkat(dir.get(), name, 0);
    }
  }
  ::unlinkat(spool, id.c_str(), AT_REMOVEDIR);
}

wire::CommandMsg Tape::message() {
  wire::CommandMsg full = about;
  full.out = out.extent();
  full.err = err.extent();
  if (argv_on_disk_) {
    if (auto stored = read_record(dir_.get())) full.argv = std::move(stored->argv);
  }
  return full;
}

bool Tape::save() {
  if (abandoned_) return true;
  wire::CommandMsg news = about;
  news.argv = {};  // said once; a vector's items add up
  news.out = out.extent();
  news.err = err.extent();
  return append_record(dir_.get(), news, false);
}

void Tape::mark_ended() {
  out.mark_end();
  err.mark_end();
  ended_ = true;
}

void Tape::abandon() {
  abandoned_ = true;
  out.abandon();
  err.abandon();
}

void Tape::close_files() {
  out.close();
  err.close();
}

}  // namespace cay::keeper
