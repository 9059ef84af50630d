#include "runtime/native/spool_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runtime/native/convert.h"
#include "runtime/native/spool_files.h"
#include "wire/frame.h"
#include "wire/spool_layout.h"
#include "wire/spool_record.h"

namespace cay::runtime {
namespace {

constexpr std::size_t kMaxRecord = 1 << 20;
constexpr std::size_t kMaxCommands = 200'000;

Error no_such_command(const CommandId& command) {
  return Error{Code::kNotFound, "unknown_command", "no command '" + command.get() + "' is kept for this sandbox", 0};
}

std::uint64_t size_of(int dir, const char* name) {
  const auto fd = open_kept(dir, name);
  struct stat facts{};
  if (!fd || ::fstat(fd->get(), &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.st_size);
}

wire::SpoolFile look_at(int dir, const char* name, const wire::ExtentMsg& stream) {
  const auto fd = open_kept(dir, name);
  return wire::look_at(fd ? fd->get() : -1, stream);
}

// What became of command `id`, whose keeper is gone.
Result<wire::CommandMsg> read_record(int dir, const std::string& id, const std::string& boot_id) {
  CAY_TRY(const auto fd, open_kept(dir, wire::kSpoolRecord));
  std::string bytes(kMaxRecord + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "read the spool's record", "spool_unreadable");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  // Made and never written: nothing was started.
  if (size == 0) return Error{Code::kNotFound, "unknown_command", "command '" + id + "' was never started", 0};
  auto record = size <= kMaxRecord ? wire::read_record(bytes) : std::nullopt;
  if (!record || record->message.command_id != id) {
    return wire::damaged_record(id, size_of(dir, wire::kSpoolOut), size_of(dir, wire::kSpoolErr));
  }
  wire::CommandMsg& message = record->message;
  if (wire::is_open(message)) {
    wire::settle(message, look_at(dir, wire::kSpoolOut, message.out), look_at(dir, wire::kSpoolErr, message.err), boot_id);
  }
  return std::move(message);
}

// Output of one finished command, by pread.
class SpooledReader final : public core::CommandReader {
 public:
  SpooledReader(UniqueFd dir, wire::CommandMsg record, core::OutputOffsets from)
      : dir_(std::move(dir)), record_(std::move(record)), command_(to_model(record_)), offsets_(from) {}

  const Command& command() const override { return command_; }

  Task<core::OutputEvent> next() override {
    if (ended_) co_return Error{Code::kInternal, "reader_ended", "this reader has already given the command's end", 0};
    for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
      auto event = piece(stream);
      if (!event) co_return std::move(event).error();
      if (*event) co_return std::move(**event);
    }
    ended_ = true;
    co_return core::OutputEvent(core::OutputEnd{.command = command_});
  }

 private:
  Result<std::optional<core::OutputEvent>> piece(Stream stream) {
    using Kind = wire::SpoolPiece::Kind;
    const bool out = stream == Stream::kStdout;
    const wire::ExtentMsg& extent = out ? record_.out : record_.err;
    std::uint64_t& offset = out ? offsets_.out : offsets_.err;
    const bool after_end = offset >= extent.end_offset;
    std::uint64_t want = wire::kDataChunk;
    if (!after_end) want = std::min(want, extent.end_offset - offset);
    const auto found = wire::locate(extent, offset, want);
    if (found.kind == Kind::kEnd) return std::optional<core::OutputEvent>();
    if (found.kind == Kind::kGap) return gap(stream, offset, found.length);
    auto bytes = read(out ? out_ : err_, out ? wire::kSpoolOut : wire::kSpoolErr, found);
    // What the disk does not give back is a gap, never an invention.
    if (bytes.empty()) return gap(stream, offset, found.length);
    const std::uint64_t at = offset;
    offset += bytes.size();
    return std::optional<core::OutputEvent>(
        core::OutputData{.stream = stream, .offset = at, .bytes = std::move(bytes), .after_end = after_end});
  }

  static Result<std::optional<core::OutputEvent>> gap(Stream stream, std::uint64_t& offset, std::uint64_t length) {
    const std::uint64_t at = offset;
    if (length == 0 || length > UINT64_MAX - at) {
      return Error{Code::kLost, "spool_damaged", "the record of the command contradicts itself", 0};
    }
    offset += length;
    return std::optional<core::OutputEvent>(core::OutputGap{.stream = stream, .offset = at, .length = length});
  }

  Bytes read(UniqueFd& file, const char* name, const wire::SpoolPiece& piece) {
    if (!file) {
      auto opened = open_kept(dir_.get(), name);
      if (!opened) return {};
      file = std::move(*opened);
    }
    Bytes bytes(static_cast<std::size_t>(piece.length), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = ::pread(file.get(), bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(piece.file_position + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }

  UniqueFd dir_;
  UniqueFd out_, err_;
  wire::CommandMsg record_;
  Command command_;
  core::OutputOffsets offsets_;
  bool ended_ = false;
};

struct CloseDirectory {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

Result<std::vector<Command>> spooled_commands(const std::string& spool, const SandboxId& id,
                                              const std::string& boot_id) {
  CAY_TRY(auto root, open_spool(spool, id));
  std::vector<Command> all;
  if (!root) return all;
  const int raw = root.get();
  const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(root.get()));
  if (!entries) return Error::from_errno(errno, "list the spool", "spool_unreadable");
  root.release();  // closed with `entries`
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (!is_valid_command_id(name) || all.size() >= kMaxCommands) continue;
    const auto dir = open_directory(raw, name);
    if (!dir) continue;
    auto record = read_record(dir->get(), name, boot_id);
    if (!record) continue;  // cut down while it was made or removed
    all.push_back(to_model(*record));
  }
  std::sort(all.begin(), all.end(), [](const Command& a, const Command& b) {
    return a.started_at != b.started_at ? a.started_at < b.started_at : a.id < b.id;
  });
  return all;
}

Result<std::unique_ptr<core::CommandReader>> spooled_reader(const std::string& spool, const SandboxId& id,
                                                            const CommandId& command, core::OutputOffsets from,
                                                            const std::string& boot_id) {
  if (!is_valid_command_id(command.get())) return no_such_command(command);
  CAY_TRY(const auto root, open_spool(spool, id));
  if (!root) return no_such_command(command);
  auto dir = open_directory(root.get(), command.get());
  if (!dir && dir.error().os_errno == ENOENT) return no_such_command(command);
  CAY_TRY(auto opened, std::move(dir));
  CAY_TRY(auto record, read_record(opened.get(), command.get(), boot_id));
  if (from.out > record.out.bytes || from.err > record.err.bytes) {
    return Error{Code::kOutOfRange, "offset_past_end",
                 "the offset is past what the command has written: attach at or before it", 0};
  }
  return std::unique_ptr<core::CommandReader>(
      std::make_unique<SpooledReader>(std::move(opened), std::move(record), from));
}

}  // namespace cay::runtime
