#include "launcher/record.h"

#include <cerrno>

#include "os/file.h"
#include "wire/tlv.h"

namespace cay::launcher {

Result<std::optional<Record>> read_record(int sandboxes_dir, const std::string& id) {
  CAY_TRY(const UniqueFd dir, os::open_dir(sandboxes_dir, id));
  auto bytes = os::read_file(dir.get(), "record");
  if (!bytes && bytes.error().os_errno == ENOENT) return std::optional<Record>();
  if (!bytes) return std::move(bytes).error();
  auto record = wire::decode<Record>(*bytes);
  if (bytes->empty() || !record) {
    return Error{Code::kLost, "record_broken", "sandboxes/" + id + "/record is broken", 0};
  }
  return record;
}

Result<void> write_record(int sandboxes_dir, const std::string& id, const Record& record) {
  CAY_TRY(UniqueFd dir, os::open_dir(sandboxes_dir, id));
  return os::replace_file(dir.get(), "record", wire::encode(record), 0600);
}

}  // namespace cay::launcher
