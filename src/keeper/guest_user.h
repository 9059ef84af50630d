// The user of a command, by the guest's own /etc/passwd and /etc/group. It runs in the child
// between clone and exec: no allocation, bounded reads, and files that a guest may have made nasty.
#pragma once
#include <sys/types.h>

#include <cstddef>

namespace cay::keeper {

inline constexpr int kMaxGroups = 64;

struct GuestUser {
  uid_t uid = 0;
  gid_t gid = 0;
  gid_t groups[kMaxGroups] = {};
  int group_count = 0;
  char name[64] = "root";
  char home[512] = "/root";
  char shell[256] = "/bin/sh";
};

// `spec`: "" (root), a name, a uid; each with an optional ":group" (a name or gid). False with
// errno when there is no such user (ENOENT) or a file cannot be used. Root and bare uids need no
// entry: uid 0 has the home /root, other unlisted uids "/".
bool resolve_user(const char* spec, GuestUser& out, const char* passwd_path = "/etc/passwd",
                  const char* group_path = "/etc/group");

// Opens a guest's regular file for reading without ever waiting: not a FIFO, a device or a lease.
int open_guest_file(const char* path);

}  // namespace cay::keeper
