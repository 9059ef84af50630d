#include "launcher/record.h"

#include "os/file.h"
#include "wire/tlv.h"

namespace cay::launcher {

std::optional<Record> read_record(int sandboxes_dir, const std::string& id) {
  auto dir = os::open_dir(sandboxes_dir, id);
  if (!dir) return std::nullopt;
  auto bytes = os::read_file(dir->get(), "record");
  // An empty file: the host lost power before the bytes reached the disk.
  if (!bytes || bytes->empty()) return std::nullopt;
  return wire::decode<Record>(*bytes);
}

Result<void> write_record(int sandboxes_dir, const std::string& id, const Record& record) {
  CAY_TRY(UniqueFd dir, os::open_dir(sandboxes_dir, id));
  return os::replace_file(dir.get(), "record", wire::encode(record), 0600);
}

}  // namespace cay::launcher
