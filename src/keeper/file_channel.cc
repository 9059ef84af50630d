#include "keeper/file_channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "keeper/loop.h"
#include "os/unix_socket.h"

namespace cay::keeper {
namespace {

constexpr std::uint64_t kWindow = 512 * 1024;  // upload credit in all
constexpr std::uint64_t kGrantStep = 128 * 1024;
constexpr std::int64_t kBeatMs = 1000;

}  // namespace

void FileChannel::hang_up() {
  if (on_hangup) on_hangup();
  ::_exit(1);
}

void FileChannel::send(wire::Type type, std::string_view payload) {
  wire::Frame frame;
  frame.type = static_cast<std::uint16_t>(type);
  frame.payload = payload;
  const std::string bytes = wire::encode_frame(frame);
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t done = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) hang_up();
    left.remove_prefix(static_cast<std::size_t>(done));
  }
}

void FileChannel::fail(const Error& error) {
  send(wire::Type::kError, wire::ErrorMsg{static_cast<std::uint32_t>(error.code), error.reason,
                                          error.message, error.os_errno});
}

wire::Frame FileChannel::receive() {
  for (;;) {
    if (auto frame = reader_.next()) return *std::move(frame);
    if (reader_.bad()) hang_up();
    static char buffer[64 * 1024];
    std::vector<UniqueFd> passed;
    const ssize_t got = os::receive_with(fd_, buffer, passed);
    if (got <= 0) hang_up();
    if (!passed.empty()) bulk_ = std::move(passed.front());
    reader_.feed(std::string_view(buffer, static_cast<std::size_t>(got)));
  }
}

void FileChannel::send_entry(const wire::FileInfoMsg& entry) {
  const std::string payload = wire::encode(entry);
  wait_for_credit(payload.size());
  credit_ -= payload.size();
  send(wire::Type::kFileInfo, payload);
}

bool FileChannel::send_entry(const wire::LayerEntryMsg& entry) {
  const std::string payload = wire::encode(entry);
  if (payload.size() > wire::kDataChunk) return false;
  wait_for_credit(payload.size());
  credit_ -= payload.size();
  send(wire::Type::kLayerEntry, payload);
  return true;
}

void FileChannel::send_event(const wire::FileEventMsg& event) {
  const std::string payload = wire::encode(event);
  wait_for_credit(payload.size());
  credit_ -= payload.size();
  send(wire::Type::kFileEvent, payload);
}

void FileChannel::add_credit(const wire::Frame& frame) {
  if (static_cast<wire::Type>(frame.type) != wire::Type::kCredit) return;
  const auto credit = wire::decode<wire::Credit>(frame.payload);
  if (credit) credit_ += credit->bytes;
}

void FileChannel::take_credit() {
  char buffer[4096];
  const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) hang_up();
  reader_.feed(std::string_view(buffer, static_cast<std::size_t>(got)));
  while (auto frame = reader_.next()) add_credit(*frame);
  if (reader_.bad()) hang_up();
}

std::uint64_t FileChannel::wait_for_credit(std::uint64_t least) {
  while (credit_ < least) add_credit(receive());
  return credit_;
}

void FileChannel::send_data(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::uint64_t allowed = wait_for_credit();
    wire::Data data;
    data.offset = offset;
    data.bytes = bytes.substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(allowed, wire::kDataChunk)));
    send(wire::Type::kData, wire::encode_data(data));
    credit_ -= data.bytes.size();
    offset += data.bytes.size();
    bytes.remove_prefix(data.bytes.size());
  }
}

wire::Frame FileChannel::next_upload() {
  if (!granted_) {
    granted_ = true;
    send(wire::Type::kCredit, wire::Credit{kWindow});
  }
  if (to_grant_ >= kGrantStep) {
    send(wire::Type::kCredit, wire::Credit{to_grant_});
    to_grant_ = 0;
  }
  wire::Frame frame = receive();
  const auto type = static_cast<wire::Type>(frame.type);
  if (type == wire::Type::kData) {
    if (const auto data = wire::decode_data(frame.payload)) to_grant_ += data->bytes.size();
  } else if (type == wire::Type::kFileInfo || type == wire::Type::kLayerEntry) {
    to_grant_ += frame.payload.size();
  }
  return frame;
}

UniqueFd FileChannel::open_bulk() {
  send(wire::Type::kBulk, std::string_view());
  for (;;) {
    const wire::Frame frame = receive();
    if (static_cast<wire::Type>(frame.type) == wire::Type::kBulk) return take_bulk();
    add_credit(frame);
  }
}

void FileChannel::heartbeat() {
  const std::int64_t now = monotonic_ms();
  if (now - last_beat_ < kBeatMs) return;
  last_beat_ = now;
  send(wire::Type::kCredit, wire::Credit{0});
}

}  // namespace cay::keeper
