#include "server/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "base/unique_fd.h"
#include "model/ids.h"

namespace cay::server {
namespace {

constexpr std::size_t kMaxKeyFile = 1 << 20;
constexpr UnixMillis kMillisPerSecond = 1000;
constexpr std::string_view kSince = "#since";

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
    if (text.size() > kMaxKeyFile)
      return Error{Code::kInvalidArgument, "bad_key_file", path + " is too large", 0};
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

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  return text;
}

// A file of mode 0600, written and synced beside the one that it is to be; what is left of it goes
// with this.
class Draft {
 public:
  // `prepare` is called with its descriptor first.
  template <class Prepare>
  static Result<Draft> write(const std::string& path, std::string_view text, Prepare prepare) {
    Draft out(path + "." + new_uuid());
    const UniqueFd fd(
        ::open(out.name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return Error::from_errno(errno, "write " + out.name_);
    CAY_CHECK(prepare(fd.get()));
    CAY_CHECK(write_all(fd.get(), text, out.name_));
    return out;
  }
  Draft(Draft&& other) noexcept : name_(std::exchange(other.name_, {})) {}
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  const std::string& name() const { return name_; }

 private:
  explicit Draft(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

// "1790000000" -> that moment. Nothing: not one.
std::optional<UnixMillis> seconds_of(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size() && seconds >= 0;
  if (!whole || seconds > std::numeric_limits<std::int64_t>::max() / kMillisPerSecond)
    return std::nullopt;
  return seconds * kMillisPerSecond;
}
std::string seconds(UnixMillis at) { return std::to_string(at / kMillisPerSecond); }

// One word of "scope=use,sandbox=…". False: it is none, and whoever wrote it meant something that
// would not hold.
bool take(KeyRecord& record, std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  if (name == "scope") {
    const auto scope = scope_of(value);
    if (scope) record.scope = *scope;
    return scope.has_value();
  }
  if (name == "sandbox") {
    record.only = SandboxId(std::string(value));
    return is_uuid(std::string(value));
  }
  if (name == "expires") return (record.expires = seconds_of(value)).has_value();
  if (name != "older") return false;
  const auto colon = value.find(':');
  if (colon == std::string_view::npos) return false;
  const auto hash = hash_from_hex(value.substr(0, colon));
  const auto until = seconds_of(value.substr(colon + 1));
  if (hash && until) record.older = KeyRecord::Older{*hash, *until};
  return hash && until;
}

bool take_all(KeyRecord& record, std::string_view words) {
  while (true) {
    const auto comma = words.find(',');
    if (!take(record, words.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    words.remove_prefix(comma + 1);
  }
}

std::string line_of(const KeyRecord& record) {
  std::string words;
  const auto say = [&words](const std::string& word) {
    words += (words.empty() ? "" : ",") + word;
  };
  if (record.scope != KeyScope::kCreate) say("scope=" + std::string(text_of(record.scope)));
  if (record.only) say("sandbox=" + record.only->get());
  if (record.expires) say("expires=" + seconds(*record.expires));
  if (record.older) say("older=" + to_hex(record.older->hash) + ":" + seconds(record.older->until));
  const std::string when = record.since == 0 ? ""
                                             : std::string(kSince) + " " + record.name + " " +
                                                   std::to_string(record.since) + "\n";
  return when + record.name + " " + record.tenant + " " + (words.empty() ? "" : words + " ") +
         to_hex(record.hash) + "\n";
}

// The file's owner stays; a new file is its directory's owner's, for root may have made it.
Result<void> keep_owner(int fd, const std::string& path, const std::string& directory) {
  struct stat owner{};
  if (::lstat(path.c_str(), &owner) != 0 && ::stat(directory.c_str(), &owner) != 0)
    return Error::from_errno(errno, "look at " + directory);
  if (::geteuid() == 0 && ::fchown(fd, owner.st_uid, owner.st_gid) != 0)
    return Error::from_errno(errno, "own " + path);
  return {};
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// A key that was taken away must not come back with the power.
Result<void> keep_names(const std::string& directory) {
  const UniqueFd names(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names || ::fsync(names.get()) != 0) return Error::from_errno(errno, "write " + directory);
  return {};
}

// In place of what is there.
Result<void> replace(const std::string& path, const std::string& text) {
  const std::string directory = directory_of(path);
  CAY_TRY(const Draft draft,
          Draft::write(path, text, [&](int fd) { return keep_owner(fd, path, directory); }));
  if (::rename(draft.name().c_str(), path.c_str()) != 0)
    return Error::from_errno(errno, "write " + path);
  return keep_names(directory);
}

}  // namespace

Result<KeyRing> load_keys(const std::string& path, Clock& clock) {
  KeyRing ring(clock);
  auto text = read_file(path);
  if (!text) {
    if (text.error().os_errno == ENOENT) return ring;
    return std::move(text).error();
  }
  std::istringstream lines(*text);
  std::map<std::string, UnixMillis> since;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = without_line_end(line);
    if (line.starts_with(kSince)) {
      std::istringstream in(line.substr(kSince.size()));
      std::string name;
      UnixMillis at = 0;
      if (in >> name >> at) since[name] = at;
    }
    if (line.empty() || line.front() == '#') continue;
    std::istringstream in(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    const std::string where = path + ":" + std::to_string(number);
    const Error wrong{Code::kInvalidArgument, "bad_key_file",
                      where + ": not 'name tenant [scope=…,…] sha256', as `cay key` writes it", 0};
    if (words.size() != 3 && words.size() != 4) return wrong;
    KeyRecord record{.name = words[0], .tenant = words[1]};
    const auto hash = hash_from_hex(words.back());
    if (!hash || (words.size() == 4 && !take_all(record, words[2]))) return wrong;
    record.hash = *hash;
    if (const auto told = since.find(record.name); told != since.end()) record.since = told->second;
    auto added = ring.add(std::move(record));
    if (!added) return std::move(added).error().while_doing(where);
  }
  return ring;
}

Result<void> save_keys(const std::string& path, const std::vector<KeyRecord>& records) {
  if (records.empty()) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return Error::from_errno(errno, "remove " + path);
    return keep_names(directory_of(path));
  }
  std::string text;
  for (const auto& record : records) text += line_of(record);
  return replace(path, text);
}

FileState state_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  constexpr std::int64_t kNanos = 1'000'000'000;
  return {info.st_ino, static_cast<std::uint64_t>(info.st_size),
          info.st_ctim.tv_sec * kNanos + info.st_ctim.tv_nsec};
}

Result<std::string> ensure_key_file(const std::string& path) {
  auto found = read_file(path);
  if (found) {
    std::string key = without_line_end(*found);
    if (key.empty())
      return Error{Code::kInvalidArgument, "bad_key_file",
                   path + " is empty: remove it for a new key", 0};
    return key;
  }
  if (found.error().os_errno != ENOENT) return std::move(found).error();
  // Written beside and linked: a crash leaves no half key, and two starts agree on one.
  std::string key = new_key();
  CAY_TRY(const Draft draft, Draft::write(path, key + "\n", [](int) { return Result<void>(); }));
  if (::link(draft.name().c_str(), path.c_str()) == 0) return key;
  if (errno != EEXIST) return Error::from_errno(errno, "write " + path);
  CAY_TRY(auto other, read_file(path));
  return without_line_end(other);
}

Result<std::string> replace_key_file(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT)
      return Error{
          Code::kNotFound, "no_such_key",
          path + " is not there: the daemon was given its key by CAY_API_KEY, or has never begun",
          0};
    return Error::from_errno(errno, "look at " + path);
  }
  std::string key = new_key();
  CAY_CHECK(replace(path, key + "\n"));
  return key;
}

}  // namespace cay::server
