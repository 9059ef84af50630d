#include "wire/program_record.h"

#include <cstddef>

#include "wire/checked_frame.h"

namespace cay::wire {
namespace {

constexpr std::uint32_t kUidRange = 65'536;
constexpr std::uint32_t kNobody = 65'534;  // what the kernel shows for an id that is not mapped
constexpr int kSignalBits = 0x7f;
constexpr int kCoreBit = 0x80;

// Each argument ends with a NUL, but for one that was cut.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

std::optional<ProgramMsg> program_of(const cay_program_event& event, std::size_t size,
                                     std::uint32_t first_uid, std::int64_t epoch_us) {
  constexpr std::size_t kFixed = offsetof(cay_program_event, text);
  if (size < kFixed || event.text_size > sizeof event.text || event.text_size > size - kFixed ||
      event.path_size > event.text_size || event.kind < CAY_PROGRAM_START ||
      event.kind > CAY_PROGRAM_END) {
    return std::nullopt;
  }
  const auto micros = [epoch_us](std::uint64_t ns) {
    return epoch_us + static_cast<std::int64_t>(ns / 1000);
  };
  ProgramMsg out;
  out.kind = static_cast<std::uint8_t>(event.kind);
  out.at_us = micros(event.at_ns);
  out.pid = event.pid;
  out.parent = event.parent;
  out.started_us = micros(event.started_ns);
  out.uid = event.uid - first_uid < kUidRange ? event.uid - first_uid : kNobody;
  if (event.kind == CAY_PROGRAM_EXEC) {
    const std::string_view text(event.text, event.text_size);
    out.path = text.substr(0, event.path_size);
    out.args = split(text.substr(event.path_size));
    out.path_cut = (event.flags & CAY_PROGRAM_PATH_CUT) != 0;
    out.args_cut = (event.flags & CAY_PROGRAM_ARGS_CUT) != 0;
    out.args_unread = (event.flags & CAY_PROGRAM_ARGS_UNREAD) != 0;
  } else if (event.kind == CAY_PROGRAM_END) {
    out.signal = event.status & kSignalBits;
    out.core_dumped = (event.status & kCoreBit) != 0;
    if (out.signal == 0) out.exit_code = (event.status >> 8) & 0xff;
    out.oom = (event.flags & CAY_PROGRAM_OOM) != 0;
  }
  return out;
}

void append_program(std::string& out, const ProgramMsg& message) {
  append_checked(out, encode(message));
}

ProgramsRead read_programs(std::string_view bytes, std::size_t limit) {
  ProgramsRead read;
  while (read.records.size() < limit) {
    const std::string_view rest = bytes.substr(read.good);
    const auto length = checked_length(rest);
    if (!length) break;
    if (*length > kMaxProgramFrame) {
      read.damaged = true;
      break;
    }
    if (*length > rest.size() - kCheckedHead) break;
    const auto payload = first_checked(rest);
    auto message = payload ? decode<ProgramMsg>(*payload) : std::nullopt;
    if (!message) {
      read.damaged = true;
      break;
    }
    read.records.emplace_back(read.good, *std::move(message));
    read.good += kCheckedHead + *length;
  }
  return read;
}

}  // namespace cay::wire
