#include "runtime/native/spool_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runtime/keeper/convert.h"
#include "runtime/native/spool_files.h"
#include "wire/frame.h"
#include "wire/spool_layout.h"
#include "wire/spool_record.h"

namespace cay::runtime {
namespace {

constexpr std::size_t kMaxRecord = 1 << 20;
constexpr std::size_t kMaxCommands = 200'000;

Error no_such_command(const CommandId& command) {
  return Error{Code::kNotFound, "unknown_command",
               "no command '" + command.get() + "' is kept for this sandbox", 0};
}

// Returns an empty descriptor if the file is missing, or is not of the kind that a keeper makes.
Result<UniqueFd> open_stream(int dir, const char* name) {
  auto fd = open_kept(dir, name);
  if (!fd && is_out_of_breath(fd.error())) return std::move(fd).error();
  return fd ? *std::move(fd) : UniqueFd();
}

Result<std::uint64_t> size_of(int dir, const char* name) {
  CAY_TRY(const UniqueFd fd, open_stream(dir, name));
  struct stat facts{};
  if (!fd || ::fstat(fd.get(), &facts) != 0) return std::uint64_t{0};
  return static_cast<std::uint64_t>(facts.st_size);
}

Result<wire::SpoolFile> look_at(int dir, const char* name, const wire::ExtentMsg& stream) {
  CAY_TRY(const UniqueFd fd, open_stream(dir, name));
  return wire::look_at(fd ? fd.get() : -1, stream);
}

Result<wire::CommandMsg> damaged(int dir, const std::string& id) {
  CAY_TRY(const auto out, size_of(dir, wire::kSpoolOut));
  CAY_TRY(const auto err, size_of(dir, wire::kSpoolErr));
  return wire::damaged_record(id, out, err);
}

// Reads the record of command `id`, whose keeper is gone. Sets `open` to whether no end is on
// record.
Result<wire::CommandMsg> read_record(int dir, const std::string& id, const std::string& boot_id,
                                     bool* open = nullptr) {
  CAY_TRY(const auto fd, open_kept(dir, wire::kSpoolRecord));
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0)
    return Error::from_errno(errno, "stat the spool's record", "spool_unreadable");
  std::string bytes(std::min(static_cast<std::size_t>(facts.st_size), kMaxRecord) + 1,
                    '\0');  // nobody writes to it any more
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "read the spool's record", "spool_unreadable");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  // Also an empty one: a file system leaves a new file so when the power goes, whatever had been
  // written.
  auto record = size <= kMaxRecord ? wire::read_record(bytes) : std::nullopt;
  if (!record || record->message.command_id != id) {
    return damaged(dir, id);
  }
  wire::CommandMsg& message = record->message;
  if (open != nullptr) *open = message.state == static_cast<std::uint8_t>(CommandState::kRunning);
  if (wire::is_open(message)) {
    CAY_TRY(const auto out, look_at(dir, wire::kSpoolOut, message.out));
    CAY_TRY(const auto err, look_at(dir, wire::kSpoolErr, message.err));
    wire::settle(message, out, err, boot_id);
  }
  return std::move(message);
}

// Output of one finished command, by pread.
class SpooledReader final : public KeptOutput {
 public:
  SpooledReader(UniqueFd dir, wire::CommandMsg record, core::OutputOffsets from)
      : dir_(std::move(dir)),
        record_(std::move(record)),
        command_(to_model(record_)),
        offsets_(from) {}

  const Command& command() const override { return command_; }

  Task<core::OutputEvent> next() override {
    if (ended_)
      co_return Error{Code::kInternal, "reader_ended",
                      "this reader has already given the command's end", 0};
    for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
      auto event = piece(stream);
      if (!event) co_return std::move(event).error();
      if (*event) co_return std::move(**event);
    }
    ended_ = true;
    co_return core::OutputEvent(core::OutputEnd{.command = command_});
  }

  void let_go() override {
    dir_.reset();
    out_.reset();
    err_.reset();
  }

 private:
  Result<std::optional<core::OutputEvent>> piece(Stream stream) {
    using Kind = wire::SpoolPiece::Kind;
    const bool out = stream == Stream::kStdout;
    const wire::ExtentMsg& extent = out ? record_.out : record_.err;
    std::uint64_t& offset = out ? offsets_.out : offsets_.err;
    const bool after_end = offset >= extent.end_offset;
    if (!dir_ && offset < extent.bytes) {
      return gap(stream, offset, (after_end ? extent.bytes : extent.end_offset) - offset);
    }
    std::uint64_t want = wire::kDataChunk;
    if (!after_end) want = std::min(want, extent.end_offset - offset);
    const auto found = wire::locate(extent, offset, want);
    if (found.kind == Kind::kEnd) return std::optional<core::OutputEvent>();
    if (found.kind == Kind::kGap) return gap(stream, offset, found.length);
    CAY_TRY(auto bytes, read(out ? out_ : err_, out ? wire::kSpoolOut : wire::kSpoolErr, found));
    // Bytes that the disk does not give back are a gap, never an invention.
    if (bytes.empty()) return gap(stream, offset, found.length);
    const std::uint64_t at = offset;
    offset += bytes.size();
    return std::optional<core::OutputEvent>(core::OutputData{
        .stream = stream, .offset = at, .bytes = std::move(bytes), .after_end = after_end});
  }

  static Result<std::optional<core::OutputEvent>> gap(Stream stream, std::uint64_t& offset,
                                                      std::uint64_t length) {
    const std::uint64_t at = offset;
    if (length == 0 || length > UINT64_MAX - at) {
      return Error{Code::kLost, "spool_damaged", "the record of the command contradicts itself", 0};
    }
    offset += length;
    return std::optional<core::OutputEvent>(
        core::OutputGap{.stream = stream, .offset = at, .length = length});
  }

  Result<Bytes> read(UniqueFd& file, const char* name, const wire::SpoolPiece& piece) {
    if (!file) {
      CAY_TRY(file, open_stream(dir_.get(), name));
    }
    if (!file) return Bytes();
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

class SpooledCommand final : public KeptCommand {
 public:
  SpooledCommand(UniqueFd dir, wire::CommandMsg record, bool open)
      : dir_(std::move(dir)), record_(std::move(record)), open_(open) {}

  bool is_open() const override { return open_; }
  Result<std::unique_ptr<KeptOutput>> read(core::OutputOffsets from) override {
    if (from.out > record_.out.bytes || from.err > record_.err.bytes) {
      return Error{Code::kOutOfRange, "offset_past_end",
                   "the offset is past what the command has written: attach at or before it", 0};
    }
    return std::unique_ptr<KeptOutput>(
        std::make_unique<SpooledReader>(std::move(dir_), std::move(record_), from));
  }
  void let_go() override { dir_.reset(); }

 private:
  UniqueFd dir_;
  wire::CommandMsg record_;
  bool open_ = false;
};

Result<std::unique_ptr<KeptCommand>> spooled_command(const std::string& spool, const SandboxId& id,
                                                     const CommandId& command,
                                                     const std::string& boot_id) {
  if (!is_valid_command_id(command.get())) return no_such_command(command);
  CAY_TRY(const auto root, open_spool(spool, id));
  if (!root) return no_such_command(command);
  auto dir = open_directory(root.get(), command.get());
  if (!dir && dir.error().os_errno == ENOENT) return no_such_command(command);
  CAY_TRY(auto opened, std::move(dir));
  bool open = false;
  auto found = read_record(opened.get(), command.get(), boot_id, &open);
  if (!found && found.error().os_errno == ENOENT)
    return no_such_command(command);  // cut down while it was made or removed
  CAY_TRY(auto record, std::move(found));
  return std::unique_ptr<KeptCommand>(
      std::make_unique<SpooledCommand>(std::move(opened), std::move(record), open));
}

}  // namespace

void SpooledCommands::CloseDirectory::operator()(DIR* dir) const { ::closedir(dir); }

Result<SpooledCommands> SpooledCommands::open(const std::string& spool, const SandboxId& id,
                                              std::string boot_id) {
  SpooledCommands out;
  out.boot_id_ = std::move(boot_id);
  CAY_TRY(auto root, open_spool(spool, id));
  if (!root) return out;
  out.entries_.reset(::fdopendir(root.get()));
  if (!out.entries_) return Error::from_errno(errno, "list the spool", "spool_unreadable");
  root.release();  // closed with `entries_`
  return out;
}

Result<bool> SpooledCommands::read(std::size_t most) {
  if (!entries_) return false;
  for (std::size_t i = 0; i < most; ++i) {
    errno = 0;
    const dirent* entry = ::readdir(entries_.get());
    if (entry == nullptr && errno != 0)
      return Error::from_errno(errno, "list the spool", "spool_unreadable");
    if (entry == nullptr || all_.size() >= kMaxCommands) return false;
    CAY_CHECK(look_at_one(entry->d_name));
  }
  return true;
}

// One that is there and cannot be looked at is no command that never ran: without it there is no
// list.
Result<void> SpooledCommands::look_at_one(const std::string& name) {
  if (!is_valid_command_id(name)) return {};
  const auto dir = open_directory(::dirfd(entries_.get()), name);
  const bool gone_or_none =
      !dir && (dir.error().os_errno == ENOENT || dir.error().os_errno == ENOTDIR ||
               dir.error().os_errno == ELOOP);
  if (gone_or_none) return {};
  if (!dir) return dir.error();
  auto record = read_record(dir->get(), name, boot_id_);
  if (!record && record.error().reason == "spool_damaged") record = damaged(dir->get(), name);
  if (!record && (record.error().code == Code::kNotFound || record.error().os_errno == ENOENT))
    return {};  // cut down while it was made or removed
  if (!record) return std::move(record).error();
  all_.push_back(to_model(*record));
  return {};
}

std::vector<Command> SpooledCommands::take() {
  std::sort(all_.begin(), all_.end(), [](const Command& a, const Command& b) {
    return a.started_at != b.started_at ? a.started_at < b.started_at : a.id < b.id;
  });
  return std::move(all_);
}

KeptCommands spooled_commands(std::string spool, SandboxId id, std::string boot_id) {
  return [spool = std::move(spool), id = std::move(id), boot_id = std::move(boot_id)](
             const CommandId& command) { return spooled_command(spool, id, command, boot_id); };
}

Result<std::unique_ptr<core::CommandReader>> spooled_reader(const std::string& spool,
                                                            const SandboxId& id,
                                                            const CommandId& command,
                                                            core::OutputOffsets from,
                                                            const std::string& boot_id) {
  CAY_TRY(auto kept, spooled_command(spool, id, command, boot_id));
  CAY_TRY(auto reader, kept->read(from));
  return std::unique_ptr<core::CommandReader>(std::move(reader));
}

}  // namespace cay::runtime
