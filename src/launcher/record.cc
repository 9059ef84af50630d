#include "launcher/record.h"

#include <unistd.h>

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

Result<void> forget_record(int sandboxes_dir, const std::string& id) {
  auto dir = os::open_dir(sandboxes_dir, id);
  if (!dir && dir.error().os_errno == ENOENT) return {};
  if (!dir) return std::move(dir).error();
  if (::unlinkat(dir->get(), "record", 0) != 0 && errno != ENOENT)
    return Error::from_errno(errno, "remove the record of " + id);
  return {};
}

}  // namespace cay::launcher
