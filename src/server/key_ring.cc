#include "server/key_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "base/unique_fd.h"
#include "model/ids.h"

namespace cay::server {
namespace {

constexpr std::size_t kMaxKeyFile = 1 << 20;

Result<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Error::from_errno(errno, "open " + path);
  std::string text;
  char chunk[4096];
  while (true) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0) return Error::from_errno(errno, "read " + path);
    if (n == 0) return text;
    text.append(chunk, static_cast<std::size_t>(n));
    if (text.size() > kMaxKeyFile) return Error{Code::kInvalidArgument, "bad_key_file", path + " is too large", 0};
  }
}

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0) return Error::from_errno(errno, "write " + path);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return Error::from_errno(errno, "write " + path);
  return {};
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

std::string new_key() { return "cay_" + new_secret(); }

Result<void> KeyRing::add(KeyRecord record) {
  if (!is_valid_name(record.name) || !is_valid_name(record.tenant)) {
    return Error{Code::kInvalidArgument, "bad_key_name",
                 "names of keys and tenants are 1-63 letters, digits, '.', '_' or '-'", 0};
  }
  for (const auto& known : records_) {
    if (known.name == record.name) {
      return Error{Code::kAlreadyExists, "key_name_in_use", "there is a key named '" + record.name + "' already", 0};
    }
  }
  records_.push_back(std::move(record));
  return {};
}

std::optional<Principal> KeyRing::find(std::string_view key) const {
  const KeyHash hash = hash_key(key);
  const KeyRecord* found = nullptr;
  for (const auto& record : records_) {
    if (equal_hashes(record.hash, hash)) found = &record;
  }
  if (found == nullptr) return std::nullopt;
  return Principal{TenantId(found->tenant), found->name};
}

bool KeyRing::has(const KeyHash& hash) const {
  return std::any_of(records_.begin(), records_.end(), [&hash](const KeyRecord& one) { return equal_hashes(one.hash, hash); });
}

bool KeyRing::has(const std::string& name, const std::string& tenant) const {
  for (const auto& record : records_) {
    if (record.name == name && record.tenant == tenant) return true;
  }
  return false;
}

Result<KeyRing> load_keys(const std::string& path) {
  KeyRing ring;
  auto text = read_file(path);
  if (!text) {
    if (text.error().os_errno == ENOENT) return ring;
    return std::move(text).error();
  }
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    KeyRecord record;
    std::string hex;
    words >> record.name >> record.tenant >> hex;
    const auto hash = hash_from_hex(hex);
    const std::string where = path + ":" + std::to_string(number);
    if (!hash) return Error{Code::kInvalidArgument, "bad_key_file", where + ": not 'name tenant sha256'", 0};
    record.hash = *hash;
    auto added = ring.add(std::move(record));
    if (!added) return std::move(added).error().while_doing(where);
  }
  return ring;
}

FileState state_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  constexpr std::int64_t kNanos = 1'000'000'000;
  return {info.st_ino, static_cast<std::uint64_t>(info.st_size), info.st_ctim.tv_sec * kNanos + info.st_ctim.tv_nsec};
}

Result<void> append_key(const std::string& path, const KeyRecord& record) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::from_errno(errno, "open " + path);
  return write_all(fd.get(), record.name + " " + record.tenant + " " + to_hex(record.hash) + "\n", path);
}

Result<std::string> ensure_key_file(const std::string& path) {
  auto found = read_file(path);
  if (found) {
    std::string key = trimmed(*found);
    if (key.empty()) return Error{Code::kInvalidArgument, "bad_key_file", path + " is empty: remove it for a new key", 0};
    return key;
  }
  if (found.error().os_errno != ENOENT) return std::move(found).error();
  // Written beside and linked: a crash leaves no half key, and two starts agree on one.
  std::string key = new_key();
  const std::string draft = path + "." + new_uuid();
  {
    const UniqueFd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return Error::from_errno(errno, "write " + draft);
    auto written = write_all(fd.get(), key + "\n", draft);
    if (!written) {
      ::unlink(draft.c_str());
      return std::move(written).error();
    }
  }
  const int linked = ::link(draft.c_str(), path.c_str());
  const int reason = errno;
  ::unlink(draft.c_str());
  if (linked == 0) return key;
  if (reason != EEXIST) return Error::from_errno(reason, "write " + path);
  CAY_TRY(auto other, read_file(path));
  return trimmed(other);
}

}  // namespace cay::server
