// Owners of files by name, as the guest's own /etc/passwd and /etc/group have them.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>

#include "base/result.h"

namespace cay::keeper {

struct Owner {
  uid_t uid = static_cast<uid_t>(-1);  // -1: stays as it is
  gid_t gid = static_cast<gid_t>(-1);
};

// `text`: "USER", "USER:GROUP" or ":GROUP", each a name or a number. Fails kInvalidArgument
// (bad_owner).
Result<Owner> owner_of(const std::string& text);

// OwnerNames: the names of ids. It reads each file once, when a name is first needed.
class OwnerNames {
 public:
  // Returns the name, or an empty string if the id has none.
  std::string user(uid_t id) { return name_of(users_, "/etc/passwd", id); }
  std::string group(gid_t id) { return name_of(groups_, "/etc/group", id); }

 private:
  struct Table {
    bool loaded = false;
    std::map<unsigned, std::string> names;
  };
  static std::string name_of(Table& table, const char* path, unsigned id);

  Table users_, groups_;
};

}  // namespace cay::keeper
