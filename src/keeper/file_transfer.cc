// read and write of one file.
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "keeper/bulk_writer.h"
#include "keeper/file_error.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

constexpr std::uint64_t kMostSent = std::uint64_t{1} << 30;  // of one sendfile(2)

Error no_socket(const std::string& shown) {
  return {Code::kExhausted, "no_descriptors",
          shown + ": the file helper could not take another descriptor", EMFILE};
}

// The pages of the file go into the socket without a copy. A file that grows meanwhile is read as
// long as it was.
Result<void> send_bulk(FileChannel& channel, int file, std::uint64_t offset, std::uint64_t size,
                       const std::string& shown) {
  const UniqueFd bulk = channel.open_bulk();
  if (!bulk) return no_socket(shown);
  ::signal(SIGPIPE, SIG_IGN);  // the daemon may give it up
  auto at = static_cast<off_t>(offset);
  while (size > 0) {
    const ssize_t gone =
        ::sendfile(bulk.get(), file, &at, static_cast<std::size_t>(std::min(size, kMostSent)));
    if (gone < 0 && errno == EINTR) continue;
    if (gone < 0) return file_error(errno, shown);
    if (gone == 0) break;
    size -= static_cast<std::uint64_t>(gone);
  }
  return {};
}

// Reads until the daemon ends the stream. The next frame confirms that it was the whole file.
Result<void> receive_bulk(FileChannel& channel, PendingFile& pending, const std::string& shown) {
  const UniqueFd bulk = channel.take_bulk();
  if (!bulk) return no_socket(shown);
  const auto free = [](char* memory) { std::free(memory); };
  const std::unique_ptr<char, decltype(free)> buffer(
      static_cast<char*>(std::aligned_alloc(SparseFile::kBlock, BulkWriter::kMost)));
  if (!buffer) return file_error(ENOMEM, shown);
  BulkWriter writer(pending, shown);
  std::size_t have = 0;
  for (bool ended = false; !ended;) {
    // Not until all of it is here: the helper would sleep, and be woken for each bit of it.
    while (have < BulkWriter::kLeast && !ended) {
      const ssize_t got = ::recv(bulk.get(), buffer.get() + have, BulkWriter::kMost - have, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(errno, shown);
      ended = got == 0;
      have += static_cast<std::size_t>(got);
    }
    const std::size_t whole = ended ? have : writer.whole_blocks(have);
    CAY_CHECK(writer.write(std::string_view(buffer.get(), whole)));
    have -= whole;
    std::memmove(buffer.get(), buffer.get() + whole, have);
  }
  return {};
}

}  // namespace

Result<void> read_file(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  struct stat info{};
  CAY_TRY(auto file, open_regular(AT_FDCWD, op.path.c_str(), shown, false, info));
  // Files of /proc have size 0 and content, so only a real size bounds an offset.
  if (op.offset > 0 && op.offset > static_cast<std::uint64_t>(info.st_size)) {
    return Error{
        Code::kOutOfRange, "offset_past_end",
        shown + ": the offset is past the end (" + std::to_string(info.st_size) + " bytes)", 0};
  }
  channel.hold(wire::Type::kFileInfo,
               wire::encode(info_of(shown, info, AT_FDCWD, op.path.c_str())));
  std::uint64_t offset = op.offset;
  std::uint64_t left = op.length < 0 ? UINT64_MAX : static_cast<std::uint64_t>(op.length);
  const auto whole = static_cast<std::uint64_t>(info.st_size);
  if (op.bulk_from > 0 && std::min(left, whole - std::min(whole, offset)) >= op.bulk_from) {
    CAY_CHECK(send_bulk(channel, file.get(), offset, std::min(left, whole - offset), shown));
    left = 0;
  }
  std::vector<char> buffer(left > 0 ? wire::kDataChunk : 0);
  while (left > 0) {
    const std::uint64_t allowed = channel.wait_for_credit();
    const auto want =
        static_cast<std::size_t>(std::min<std::uint64_t>({left, allowed, buffer.size()}));
    const ssize_t got = ::pread(file.get(), buffer.data(), want, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, shown);
    if (got == 0) break;
    const auto size = static_cast<std::size_t>(got);
    // The end follows at once.
    using When = FileChannel::When;
    channel.send_data(offset, std::string_view(buffer.data(), size),
                      size < want || size == left ? When::kWithNext : When::kNow);
    offset += size;
    left -= size;
  }
  channel.send(wire::Type::kEof, wire::Eof{});
  return {};
}

Result<void> write_file(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  if (op.path.ends_with('/')) return is_a_directory(shown);
  if (op.parents) {
    CAY_CHECK(make_directories(parent_of(op.path), 0755));
  }
  struct stat old{};
  // A symbolic link is something that exists, too.
  if (op.exclusive && ::lstat(op.path.c_str(), &old) == 0) return file_error(EEXIST, shown);
  CAY_TRY(const std::string target, final_target(op.path, shown));
  const bool existed = ::lstat(target.c_str(), &old) == 0;
  if (existed && S_ISDIR(old.st_mode)) return is_a_directory(shown);
  if (existed && !S_ISREG(old.st_mode)) return not_a_regular_file(shown);
  CAY_TRY(const UniqueFd dir,
          open_path(AT_FDCWD, parent_of(target).c_str(), O_RDONLY | O_DIRECTORY, shown));

  CAY_TRY(auto pending, PendingFile::create(dir.get(), shown));
  channel.on_hangup = [&pending] { pending.discard(); };
  for (;;) {
    const wire::Frame frame = channel.next_upload();
    const auto type = static_cast<wire::Type>(frame.type);
    if (type == wire::Type::kEof) break;
    if (type == wire::Type::kBulk) {
      CAY_CHECK(receive_bulk(channel, pending, shown));
      continue;
    }
    const auto data = wire::decode_data(frame.payload);
    if (type != wire::Type::kData || !data) {
      return Error{Code::kInvalidArgument, "malformed_request", "an upload is data, then its end",
                   0};
    }
    CAY_CHECK(pending.write(data->bytes, shown));
  }
  CAY_CHECK(pending.finish(shown));
  const bool keep = existed && op.keep_mode;
  const mode_t wanted = op.mode != 0 ? static_cast<mode_t>(op.mode & 07777) : 0644;
  // The owner first: a change of owner clears setuid bits. A user who may not give files away keeps
  // it.
  if (keep) [[maybe_unused]]
    const int owned = ::fchown(pending.fd(), old.st_uid, old.st_gid);
  if (::fchmod(pending.fd(), keep ? old.st_mode & 07777 : wanted) != 0)
    return file_error(errno, shown);
  struct stat info{};
  if (::fstat(pending.fd(), &info) != 0) return file_error(errno, shown);
  CAY_CHECK(pending.commit(base_of(target), shown,
                           op.exclusive ? Existing::kRefuse : Existing::kReplace));
  channel.hold(wire::Type::kFileInfo,
               wire::encode(info_of(shown, info, AT_FDCWD, op.path.c_str())));
  channel.ok();
  return {};
}

}  // namespace cay::keeper
