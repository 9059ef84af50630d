#include "wire/spool_record.h"

#include <utility>

#include "wire/checked_frame.h"

namespace cay::wire {
namespace {

constexpr std::uint8_t kRunning = 1;  // cay::CommandState
constexpr std::uint8_t kLost = 8;

}  // namespace

std::string record_frame(const CommandMsg& message) {
  std::string out;
  append_checked(out, encode(message));
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
  std::string_view rest = file.substr(record.good);
  while (const auto payload = first_checked(rest)) {
    payloads += *payload;
    record.good += kCheckedHead + payload->size();
    rest.remove_prefix(kCheckedHead + payload->size());
  }
  auto message = payloads.empty() ? std::nullopt : decode<CommandMsg>(payloads);
  if (!message) return std::nullopt;
  record.message = std::move(*message);
  return record;
}

bool is_open(const CommandMsg& record) { return record.state == kRunning || record.unsettled; }

void settle(CommandMsg& record, const SpoolFile& out, const SpoolFile& err,
            std::string_view boot_id) {
  const bool restarted = !record.boot_id.empty() && !boot_id.empty() && record.boot_id != boot_id;
  if (record.state != kRunning) {
    if (!std::exchange(record.unsettled, false)) return;
    record.out = settled_after_end(record.out, out, !restarted);
    record.err = settled_after_end(record.err, err, !restarted);
    return;
  }
  record.out = settled(record.out, out, !restarted);
  record.err = settled(record.err, err, !restarted);
  record.state = kLost;
  record.reason = restarted
                      ? "host restarted: the command ended with it"
                      : "keeper lost: the sandbox ended before the end of the command was recorded";
}

CommandMsg damaged_record(std::string command_id, std::uint64_t out_size, std::uint64_t err_size) {
  CommandMsg record;
  record.command_id = std::move(command_id);
  settle(record, {.size = out_size, .mark = {}}, {.size = err_size, .mark = {}}, {});
  record.reason = "record damaged: what became of the command is not known";
  return record;
}

}  // namespace cay::wire
