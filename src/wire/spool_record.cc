#include "wire/spool_record.h"

#include "wire/spool_layout.h"

namespace cay::wire {
namespace {

constexpr std::size_t kFrameHead = 12;
constexpr std::uint8_t kRunning = 1;  // cay::CommandState
constexpr std::uint8_t kLost = 8;

// Against torn writes, not against forgers: who writes here is the keeper.
std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

std::uint64_t take(std::string_view in, int bytes) {
  std::uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = (value << 8) | static_cast<unsigned char>(in[static_cast<std::size_t>(i)]);
  return value;
}

}  // namespace

std::string record_frame(const CommandMsg& message) {
  const std::string payload = encode(message);
  std::string out;
  out.reserve(kFrameHead + payload.size());
  put(out, payload.size(), 4);
  put(out, fnv1a(payload), 8);
  out += payload;
  return out;
}

std::optional<SpoolRecord> read_record(std::string_view file) {
  SpoolRecord record;
  if (!file.starts_with(kRecordHead)) {
    auto message = file.empty() ? std::nullopt : decode<CommandMsg>(file);
    if (!message) return std::nullopt;
    record.message = std::move(*message);
    record.good = file.size();
    record.framed = false;
    return record;
  }
  std::string payloads;
  record.good = kRecordHead.size();
  for (std::string_view rest = file.substr(record.good); rest.size() >= kFrameHead;) {
    const std::uint64_t length = take(rest, 4);
    if (length > rest.size() - kFrameHead) break;
    const std::string_view payload = rest.substr(kFrameHead, static_cast<std::size_t>(length));
    if (fnv1a(payload) != take(rest.substr(4), 8)) break;
    payloads += payload;
    record.good += kFrameHead + payload.size();
    rest.remove_prefix(kFrameHead + payload.size());
  }
  auto message = payloads.empty() ? std::nullopt : decode<CommandMsg>(payloads);
  if (!message) return std::nullopt;
  record.message = std::move(*message);
  return record;
}

void settle(CommandMsg& record, std::uint64_t out_size, std::uint64_t err_size, std::string_view boot_id) {
  const bool running = record.state == kRunning;
  record.out = settled(record.out, running ? out_size : 0, running);
  record.err = settled(record.err, running ? err_size : 0, running);
  if (!running) return;
  record.state = kLost;
  const bool restarted = !record.boot_id.empty() && !boot_id.empty() && record.boot_id != boot_id;
  record.reason = restarted ? "host restarted: the command ended with it"
                            : "keeper lost: the sandbox ended before the end of the command was recorded";
}

CommandMsg damaged_record(std::string command_id, std::uint64_t out_size, std::uint64_t err_size) {
  CommandMsg record;
  record.command_id = std::move(command_id);
  settle(record, out_size, err_size, {});
  record.reason = "record damaged: what became of the command is not known";
  return record;
}

}  // namespace cay::wire
