// The program record's two decoders: of what lies in a ring, and of what lies in a file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "wire/checked_frame.h"
#include "wire/program_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cay_program_event event{};
  std::memcpy(&event, data, std::min(size, sizeof event));
  const auto program = cay::wire::program_of(event, std::min(size, sizeof event), 0, 0);
  if (program && program->path.size() > sizeof event.text) std::abort();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = cay::wire::read_programs(bytes, 100);
  if (read.good > size || read.records.size() > 100) std::abort();
  // Sums are not for a fuzzer to find: the same bytes with a sum of their own.
  std::string framed;
  cay::wire::append_checked(framed, bytes);
  if (program) cay::wire::append_program(framed, *program);
  const auto whole = cay::wire::read_programs(framed, 100);
  if (whole.good > framed.size() || (whole.damaged && whole.good == framed.size())) std::abort();
  if (program && whole.good > 0 && (whole.good != framed.size() || whole.records.size() != 2))
    std::abort();
  return 0;
}
