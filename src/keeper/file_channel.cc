#include "keeper/file_channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "keeper/loop.h"
#include "os/unix_socket.h"
#include "wire/keeper_features.h"

namespace cay::keeper {
namespace {

constexpr std::uint64_t kWindow = 512 * 1024;  // upload credit in all
constexpr std::size_t kMostHeld = 32 * 1024;
constexpr std::uint64_t kGrantStep = 128 * 1024;
constexpr std::int64_t kBeatMs = 1000;

std::uint64_t credit_in(const wire::Frame& frame) {
  if (static_cast<wire::Type>(frame.type) != wire::Type::kCredit) return 0;
  const auto credit = wire::decode<wire::Credit>(frame.payload);
  return credit ? credit->bytes : 0;
}

}  // namespace

void FileChannel::hang_up() {
  if (on_hangup) on_hangup();
  ::_exit(1);
}

FileChannel::Turn FileChannel::Turn::of(const wire::FileOp& op) {
  Turn turn;
  turn.credit = op.credit;
  const bool ahead = static_cast<wire::FileVerb>(op.verb) == wire::FileVerb::kWrite;
  turn.to_grant = kWindow - (ahead ? wire::kUploadAhead : 0);
  return turn;
}

void FileChannel::write_held() {
  std::string_view left = held_;
  while (!left.empty()) {
    const ssize_t done = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) hang_up();
    left.remove_prefix(static_cast<std::size_t>(done));
  }
  held_.clear();
}

void FileChannel::hold(wire::Type type, std::string_view payload) {
  wire::Frame frame;
  frame.type = static_cast<std::uint16_t>(type);
  frame.payload = payload;
  held_ += wire::encode_frame(frame);
  if (held_.size() > kMostHeld) write_held();
}

void FileChannel::send(wire::Type type, std::string_view payload) {
  hold(type, payload);
  write_held();
}

void FileChannel::fail(const Error& error) {
  send(wire::Type::kError, wire::ErrorMsg{static_cast<std::uint32_t>(error.code), error.reason,
                                          error.message, error.os_errno});
}

wire::Frame FileChannel::receive() {
  for (;;) {
    if (auto frame = reader_.next()) return *std::move(frame);
    if (reader_.bad()) hang_up();
    write_held();
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
  turn_.credit -= payload.size();
  send(wire::Type::kFileInfo, payload);
}

bool FileChannel::send_entry(const wire::LayerEntryMsg& entry) {
  const std::string payload = wire::encode(entry);
  if (payload.size() > wire::kDataChunk) return false;
  wait_for_credit(payload.size());
  turn_.credit -= payload.size();
  send(wire::Type::kLayerEntry, payload);
  return true;
}

void FileChannel::send_event(const wire::FileEventMsg& event) {
  const std::string payload = wire::encode(event);
  wait_for_credit(payload.size());
  turn_.credit -= payload.size();
  send(wire::Type::kFileEvent, payload);
}

void FileChannel::take_credit() {
  char buffer[4096];
  const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) hang_up();
  reader_.feed(std::string_view(buffer, static_cast<std::size_t>(got)));
  while (auto frame = reader_.next()) turn_.credit += credit_in(*frame);
  if (reader_.bad()) hang_up();
}

std::uint64_t FileChannel::wait_for_credit(std::uint64_t least) {
  while (turn_.credit < least) turn_.credit += credit_in(receive());
  return turn_.credit;
}

void FileChannel::send_data(std::uint64_t offset, std::string_view bytes, When when) {
  while (!bytes.empty()) {
    const std::uint64_t allowed = wait_for_credit();
    wire::Data data;
    data.offset = offset;
    data.bytes = bytes.substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(allowed, wire::kDataChunk)));
    hold(wire::Type::kData, wire::encode_data(data));
    if (when == When::kNow) write_held();
    turn_.credit -= data.bytes.size();
    offset += data.bytes.size();
    bytes.remove_prefix(data.bytes.size());
  }
}

wire::Frame FileChannel::next_upload() {
  auto come = reader_.next();
  // Only now: a small upload has come whole, and needs no credit.
  if (!come && turn_.to_grant >= turn_.grant_from) {
    hold(wire::Type::kCredit, wire::encode(wire::Credit{turn_.to_grant}));
    turn_.to_grant = 0;
    turn_.grant_from = kGrantStep;
  }
  wire::Frame frame = come ? *std::move(come) : receive();
  const auto type = static_cast<wire::Type>(frame.type);
  if (type == wire::Type::kData) {
    if (const auto data = wire::decode_data(frame.payload)) turn_.to_grant += data->bytes.size();
  } else if (type == wire::Type::kFileInfo || type == wire::Type::kLayerEntry) {
    turn_.to_grant += frame.payload.size();
  }
  return frame;
}

UniqueFd FileChannel::open_bulk() {
  send(wire::Type::kBulk, std::string_view());
  for (;;) {
    const wire::Frame frame = receive();
    if (static_cast<wire::Type>(frame.type) == wire::Type::kBulk) return take_bulk();
    turn_.credit += credit_in(frame);
  }
}

wire::FileOp FileChannel::next_operation() {
  on_hangup = nullptr;
  for (;;) {
    const wire::Frame frame = receive();
    bulk_.reset();  // of an operation that failed before it was taken
    if (static_cast<wire::Type>(frame.type) != wire::Type::kFileOp) continue;
    auto op = wire::decode<wire::FileOp>(frame.payload);
    if (!op) hang_up();
    turn_ = Turn::of(*op);
    return *std::move(op);
  }
}

void FileChannel::heartbeat() {
  const std::int64_t now = monotonic_ms();
  if (now - last_beat_ < kBeatMs) return;
  last_beat_ = now;
  send(wire::Type::kCredit, wire::Credit{0});
}

}  // namespace cay::keeper
