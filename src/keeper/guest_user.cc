#include "keeper/guest_user.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cay::keeper {
namespace {

constexpr std::size_t kFileLimit = 4 * 1024 * 1024;
constexpr std::size_t kLineLimit = 8 * 1024;
constexpr int kFields = 7;

// Static, not on the stack: the child is single-threaded and its stack may be small.
char g_line[kLineLimit];

struct Lines {
  int fd = -1;
  char buffer[4096];
  std::size_t have = 0, at = 0, total = 0;

  // The next line into g_line, cut at its limit; false at the end.
  bool next() {
    std::size_t length = 0;
    for (;;) {
      if (at == have) {
        if (total >= kFileLimit) return false;
        const ssize_t got = ::read(fd, buffer, sizeof buffer);
        if (got <= 0) {
          g_line[length] = '\0';
          return length > 0;
        }
        have = static_cast<std::size_t>(got);
        total += have;
        at = 0;
      }
      const char c = buffer[at++];
      if (c == '\n') {
        g_line[length] = '\0';
        return true;
      }
      if (length + 1 < kLineLimit) g_line[length++] = c;
    }
  }
};

// Cuts g_line at its colons.
int split(char* fields[kFields]) {
  int count = 0;
  char* from = g_line;
  for (char* c = g_line;; ++c) {
    if (*c != ':' && *c != '\0') continue;
    const bool last = *c == '\0';
    *c = '\0';
    if (count < kFields) fields[count++] = from;
    if (last) return count;
    from = c + 1;
  }
}

bool parse_id(const char* text, unsigned& out) {
  if (*text == '\0') return false;
  unsigned long long value = 0;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return false;
    value = value * 10 + static_cast<unsigned>(*text - '0');
    if (value > 0xfffffffeULL) return false;
  }
  out = static_cast<unsigned>(value);
  return true;
}

void copy(char* to, std::size_t size, const char* from) {
  std::size_t i = 0;
  for (; i + 1 < size && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

bool listed(const char* members, const char* name) {
  const std::size_t length = std::strlen(name);
  for (const char* at = members; *at != '\0';) {
    const char* end = at;
    while (*end != '\0' && *end != ',') ++end;
    if (static_cast<std::size_t>(end - at) == length && std::strncmp(at, name, length) == 0)
      return true;
    at = *end == ',' ? end + 1 : end;
  }
  return false;
}

}  // namespace

int open_guest_file(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd;
  ::close(fd);
  errno = EINVAL;
  return -1;
}

bool resolve_user(const char* spec, GuestUser& out, const char* passwd_path,
                  const char* group_path) {
  out = GuestUser{};
  char user[64];
  const char* colon = std::strchr(spec, ':');
  const std::size_t user_length =
      colon != nullptr ? static_cast<std::size_t>(colon - spec) : std::strlen(spec);
  if (user_length >= sizeof user) {
    errno = ENOENT;
    return false;
  }
  std::memcpy(user, spec, user_length);
  user[user_length] = '\0';
  const char* group = colon != nullptr ? colon + 1 : nullptr;
  if (user_length == 0) copy(user, sizeof user, "root");

  unsigned wanted = 0;
  const bool by_id = parse_id(user, wanted);
  bool found = false;
  static Lines lines;
  lines = Lines{};
  lines.fd = open_guest_file(passwd_path);
  if (lines.fd >= 0) {
    while (!found && lines.next()) {
      char* field[kFields] = {};
      unsigned uid = 0;
      unsigned gid = 0;
      if (split(field) < 7 || !parse_id(field[2], uid) || !parse_id(field[3], gid)) continue;
      if (by_id ? uid != wanted : std::strcmp(field[0], user) != 0) continue;
      found = true;
      out.uid = uid;
      out.gid = gid;
      copy(out.name, sizeof out.name, field[0]);
      copy(out.home, sizeof out.home, field[5][0] == '/' ? field[5] : "/");
      copy(out.shell, sizeof out.shell, field[6][0] == '/' ? field[6] : "/bin/sh");
    }
    ::close(lines.fd);
  }
  if (!found && by_id) {
    out.uid = wanted;
    copy(out.name, sizeof out.name, user);
    copy(out.home, sizeof out.home, wanted == 0 ? "/root" : "/");
  } else if (!found && std::strcmp(user, "root") != 0) {
    errno = ENOENT;
    return false;
  }

  unsigned group_id = 0;
  bool group_found = group == nullptr || *group == '\0';
  if (!group_found && parse_id(group, group_id)) {
    out.gid = group_id;
    group_found = true;
  }
  out.groups[out.group_count++] = out.gid;
  lines = Lines{};
  lines.fd = open_guest_file(group_path);
  if (lines.fd >= 0) {
    while (lines.next()) {
      char* field[kFields] = {};
      unsigned gid = 0;
      if (split(field) < 4 || !parse_id(field[2], gid)) continue;
      if (!group_found && std::strcmp(field[0], group) == 0) {
        group_found = true;
        out.gid = gid;
        out.groups[0] = gid;
      }
      if (listed(field[3], out.name) && gid != out.groups[0] && out.group_count < kMaxGroups) {
        out.groups[out.group_count++] = gid;
      }
    }
    ::close(lines.fd);
  }
  if (!group_found) errno = ENOENT;
  return group_found;
}

}  // namespace cay::keeper
