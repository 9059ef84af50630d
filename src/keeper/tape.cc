#include "keeper/tape.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "wire/spool_record.h"

namespace cay::keeper {
namespace {

constexpr std::size_t kArgvInMemory = 2048;  // longer ones are read back from the record
constexpr std::size_t kRecordLimit = 1024 * 1024;

constexpr const char* kNewRecord = "record.new";

// Appends in one write. A part that a full disk took is removed again.
bool append(int fd, const std::string& bytes) {
  const off_t before = ::lseek(fd, 0, SEEK_END);
  for (;;) {
    const ssize_t got = ::write(fd, bytes.data(), bytes.size());
    if (got == static_cast<ssize_t>(bytes.size())) return true;
    if (got < 0 && errno == EINTR) continue;
    const int err = got < 0 ? errno : ENOSPC;
    [[maybe_unused]] const int cut = ::ftruncate(fd, before);
    errno = err;
    return false;
  }
}

// An old record's last words (spool_record.h) are of its own form.
bool append_record(int dir, const wire::CommandMsg& message, bool framed) {
  const UniqueFd file(
      ::openat(dir, wire::kSpoolRecord, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  return file && append(file.get(), framed ? wire::record_frame(message) : wire::encode(message));
}

std::string first_record(const wire::CommandMsg& message) {
  return std::string(wire::kRecordHead) + wire::record_frame(message);
}

// By another name until it is whole: one that a killed keeper left is no record, and nothing was
// started then.
bool begin_record(int dir, const std::string& record) {
  const UniqueFd file(
      ::openat(dir, kNewRecord, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
  return file && append(file.get(), record) &&
         ::renameat(dir, kNewRecord, dir, wire::kSpoolRecord) == 0;
}

std::optional<wire::SpoolRecord> read_record(int dir, bool& exists) {
  UniqueFd file(::openat(dir, wire::kSpoolRecord, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  exists = static_cast<bool>(file);
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
  return wire::read_record(bytes);
}

std::uint64_t size_of(int dir, const char* name) {
  struct stat facts{};
  return ::fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW) == 0
             ? static_cast<std::uint64_t>(facts.st_size)
             : 0;
}

wire::SpoolFile look_at(int dir, const char* name, const wire::ExtentMsg& stream) {
  const UniqueFd file(::openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return wire::look_at(file.get(), stream);
}

UniqueFd open_directory(int spool, const std::string& id) {
  return UniqueFd(::openat(spool, id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

struct CloseDirectory {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

std::size_t size_of(const std::vector<std::string>& argv) {
  std::size_t total = 0;
  for (const auto& arg : argv) total += arg.size() + sizeof(std::string);
  return total;
}

}  // namespace

bool valid_command_id(std::string_view id) {
  if (id.empty() || id.size() > 128 || id.front() == '.') return false;
  for (const char c : id) {
    const bool fine = is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
    if (!fine) return false;
  }
  return true;
}

Tape::Tape(UniqueFd dir, wire::CommandMsg message, std::uint64_t limit, std::uint64_t reserve,
           SpoolBudget* budget)
    : about(std::move(message)),
      out(dir.get(), wire::kSpoolOut, limit, reserve, budget),
      err(dir.get(), wire::kSpoolErr, limit, reserve, budget),
      dir_(std::move(dir)) {
  // On record before the first byte goes there: a file that is a ring must not be taken for one
  // that is not.
  for (SpoolStream* stream : {&out, &err}) stream->before_ring([this] { save(); });
}

Tape::Tape(UniqueFd dir, wire::CommandMsg message)
    : about(std::move(message)),
      out(dir.get(), wire::kSpoolOut, about.out),
      err(dir.get(), wire::kSpoolErr, about.err),
      dir_(std::move(dir)),
      ended_(true) {}

Result<std::shared_ptr<Tape>> Tape::create(int spool, wire::CommandMsg message, std::uint64_t limit,
                                           std::uint64_t reserve, SpoolBudget* budget,
                                           SpareDirectory* spare) {
  const std::string record = first_record(message);
  UniqueFd dir = spare != nullptr ? spare->take(message.command_id, record) : UniqueFd();
  if (!dir) {
    CAY_TRY(UniqueFd made, make_directory(spool, message.command_id, record));
    dir = std::move(made);
  }
  std::shared_ptr<Tape> tape(new Tape(std::move(dir), std::move(message), limit, reserve, budget));
  if (size_of(tape->about.argv) > kArgvInMemory) {
    tape->about.argv = {};
    tape->argv_on_disk_ = true;
  }
  return tape;
}

Result<UniqueFd> Tape::make_directory(int spool, const std::string& id, const std::string& record) {
  // 0750 by our umask-free wish: the daemon's group reads the spools of stopped sandboxes.
  if (::mkdirat(spool, id.c_str(), 0750) != 0 && errno != EEXIST) {
    return Error::from_errno(errno, "make the command's spool directory", "spool_unusable");
  }
  UniqueFd dir(::openat(spool, id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!dir) return Error::from_errno(errno, "open the command's spool directory", "spool_unusable");
  if (!begin_record(dir.get(), record)) {
    const int err = errno;
    erase(spool, id);
    return Error::from_errno(err, "write the command's record (is the data directory's disk full?)",
                             "spool_unusable");
  }
  return dir;
}

Result<std::shared_ptr<Tape>> Tape::load(int spool, const std::string& id) {
  UniqueFd dir = open_directory(spool, id);
  bool exists = false;
  auto record = dir ? read_record(dir.get(), exists) : std::nullopt;
  if (!record) {
    return Error{Code::kLost, "record_lost",
                 "the record of command " + id + " cannot be read from its spool", errno};
  }
  return std::shared_ptr<Tape>(new Tape(std::move(dir), std::move(record->message)));
}

std::optional<wire::CommandMsg> Tape::recall(int spool, const std::string& id,
                                             const std::string& boot_id) {
  const UniqueFd dir = open_directory(spool, id);
  // It is there and cannot be read: the command is lost, which is not the same as no such command.
  if (!dir && errno != ENOENT && errno != ENOTDIR) return wire::damaged_record(id, 0, 0);
  if (!dir) return std::nullopt;
  bool exists = false;
  auto record = read_record(dir.get(), exists);
  if (!record) {
    if (!exists) return std::nullopt;
    // It may have run: the id stays taken, and what is there of its output stays readable.
    wire::CommandMsg damaged = wire::damaged_record(id, size_of(dir.get(), wire::kSpoolOut),
                                                    size_of(dir.get(), wire::kSpoolErr));
    [[maybe_unused]] const bool told =
        begin_record(dir.get(), first_record(damaged));  // a full disk: the next life does it again
    return damaged;
  }
  wire::CommandMsg& message = record->message;
  if (!wire::is_open(message)) return std::move(message);
  wire::settle(message, look_at(dir.get(), wire::kSpoolOut, message.out),
               look_at(dir.get(), wire::kSpoolErr, message.err), boot_id);
  wire::CommandMsg news = message;
  news.argv = {};
  // A torn tail goes first: nothing behind it would ever be read. If the disk refuses now, the next
  // life tries again.
  const UniqueFd file(::openat(dir.get(), wire::kSpoolRecord, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file && ::ftruncate(file.get(), static_cast<off_t>(record->good)) == 0) {
    [[maybe_unused]] const bool told = append_record(dir.get(), news, record->framed);
  }
  return std::move(message);
}

std::set<std::string> Tape::ids(int spool) {
  std::set<std::string> ids;
  const int again = ::openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return ids;
  const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(again));
  if (!entries) {
    ::close(again);
    return ids;
  }
  while (const dirent* entry = ::readdir(entries.get())) {
    if (valid_command_id(entry->d_name)) ids.insert(entry->d_name);
  }
  return ids;
}

std::uint64_t Tape::bytes_on_disk(int spool, const std::string& id) {
  const UniqueFd dir = open_directory(spool, id);
  return dir ? size_of(dir.get(), wire::kSpoolOut) + size_of(dir.get(), wire::kSpoolErr) : 0;
}

void Tape::erase(int spool, const std::string& id) {
  const UniqueFd dir = open_directory(spool, id);
  if (dir) {
    for (const char* name : {wire::kSpoolOut, wire::kSpoolErr, wire::kSpoolRecord, kNewRecord}) {
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
    bool exists = false;
    if (auto stored = read_record(dir_.get(), exists)) full.argv = std::move(stored->message.argv);
  }
  return full;
}

bool Tape::save() {
  if (abandoned_) return true;
  wire::CommandMsg news = about;
  news.argv = {};  // recorded once; a vector's items add up
  news.unsettled = writers_;
  news.out = extent_for_record(out);
  news.err = extent_for_record(err);
  return append_record(dir_.get(), news, true);
}

// If we are killed before the next record, a ring that is written on after this one holds other
// bytes than it describes. So its part counts as dropped until nobody can write. A reader of
// `unsettled` looks at the ring's mark instead.
wire::ExtentMsg Tape::extent_for_record(const SpoolStream& stream) const {
  wire::ExtentMsg extent = stream.extent();
  if (!writers_ || extent.ring_size == 0) return extent;
  extent.gap_begin = extent.ring_begin;
  extent.gap_end = extent.bytes;
  return extent;
}

void Tape::mark_ended(bool writers) {
  out.mark_end();
  err.mark_end();
  ended_ = true;
  writers_ = writers;
}

bool Tape::mark_settled() { return std::exchange(writers_, false); }

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
