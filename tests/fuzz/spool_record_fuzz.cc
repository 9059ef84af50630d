// A command's record in its spool. Its good part stays good when more is written behind it, and a
// broken one has no end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/checked_frame.h"
#include "wire/spool_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::wire;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const auto length = checked_length(in);
  if (const auto payload = first_checked(in); payload && payload->size() != *length) std::abort();
  const auto frame =
      [in] {  // sums are not for a fuzzer to find: the same bytes with a sum of their own
        std::string out(kRecordHead);
        append_checked(out, in);
        return out;
      }();
  if (!in.empty()) {  // and with one that is not theirs
    std::string bent = frame;
    bent.back() = static_cast<char>(bent.back() ^ 1);
    if (first_checked(std::string_view(bent).substr(kRecordHead.size()))) std::abort();
  }
  for (const std::string_view file : {in, std::string_view(frame)}) {
    const auto record = read_record(file);
    if (!record) continue;
    if (record->good > file.size()) std::abort();
    CommandMsg settled_one = record->message;
    settle(settled_one, {.size = size, .mark = {}}, {.size = 7, .mark = {}}, "boot");
    if (record->message.state != 1 && settled_one.state != record->message.state) std::abort();
    if (!record->framed) continue;
    const auto torn = read_record(file.substr(0, record->good));
    if (!torn || torn->good != record->good) std::abort();
    std::string longer(file.substr(0, record->good));
    CommandMsg end = record->message;
    end.reason = "behind it";
    longer += record_frame(end);
    const auto more = read_record(longer);
    if (!more || more->good != longer.size() || more->message.reason != "behind it" ||
        more->message.state != record->message.state)
      std::abort();
  }
  const auto damaged = damaged_record("id", size, 0);
  if (damaged.state != 8 || damaged.exit_code != 0) std::abort();
  return 0;
}
