#include "keeper/file_owner.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/unique_fd.h"
#include "keeper/guest_user.h"

namespace cay::keeper {
namespace {

constexpr std::size_t kFileLimit = 4 * 1024 * 1024;
constexpr std::size_t kNameLimit = 256;

// Returns the content of a guest's file, as far as a table of names is believed.
std::string content_of(const char* path) {
  std::string out;
  const UniqueFd file(open_guest_file(path));
  while (file && out.size() < kFileLimit) {
    char buffer[16 * 1024];
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return out;
}

// "NAME:PASSWORD:ID:..." of both files.
void add_line(std::string_view line, std::map<unsigned, std::string>& names) {
  const std::size_t name = line.find(':');
  if (name == std::string_view::npos || name == 0 || name > kNameLimit) return;
  const std::size_t id = line.find(':', name + 1);
  if (id == std::string_view::npos) return;
  unsigned value = 0;
  const char* const end = line.data() + line.size();
  const auto [at, failed] = std::from_chars(line.data() + id + 1, end, value);
  if (failed != std::errc() || (at != end && *at != ':')) return;
  names.try_emplace(value, line.substr(0, name));
}

}  // namespace

Result<Owner> owner_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string user = text.substr(0, colon);
  const std::string group = colon == std::string::npos ? std::string() : text.substr(colon + 1);
  Owner out;
  GuestUser found;
  if (!user.empty()) {
    if (!resolve_user(user.c_str(), found)) {
      return Error{Code::kInvalidArgument, "bad_owner",
                   "there is no user '" + user + "' in the sandbox's /etc/passwd", 0};
    }
    out.uid = found.uid;
  }
  if (!group.empty()) {
    if (!resolve_user(("0:" + group).c_str(), found)) {
      return Error{Code::kInvalidArgument, "bad_owner",
                   "there is no group '" + group + "' in the sandbox's /etc/group", 0};
    }
    out.gid = found.gid;
  }
  if (user.empty() && group.empty()) {
    return Error{Code::kInvalidArgument, "bad_owner",
                 "an owner is USER, USER:GROUP or :GROUP, by name or number", 0};
  }
  return out;
}

std::string OwnerNames::name_of(Table& table, const char* path, unsigned id) {
  if (!table.loaded) {
    table.loaded = true;
    const std::string content = content_of(path);
    std::string_view left = content;
    while (!left.empty()) {
      const std::size_t end = left.find('\n');
      add_line(left.substr(0, end), table.names);
      if (end == std::string_view::npos) break;
      left.remove_prefix(end + 1);
    }
  }
  const auto found = table.names.find(id);
  return found == table.names.end() ? std::string() : found->second;
}

}  // namespace cay::keeper
