// Shelf: commands of earlier lives of this sandbox, as its spool directory has them. They keep their ids
// (a repeat of a request finds what it did) and are kept for what is left of their ttl.
#pragma once
#include <dirent.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "keeper/spool_budget.h"

namespace cay::keeper {

struct Shelved {
  std::string digest;
  std::int64_t ttl_ms = -1;
  std::int64_t left_ms = -1;  // how long it is still kept; -1: with the sandbox
};

class Shelf {
 public:
  Shelf(int spool, std::string boot_id, SpoolBudget& budget);

  // The command's record, if it has a readable one. Its bytes are charged: call it once for each id.
  std::optional<Shelved> find(const std::string& id);
  // The next id in the directory, in no order; nullopt at the end.
  std::optional<std::string> next();
  bool at_end() const { return listing_ == nullptr; }

 private:
  struct Close {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  int spool_;
  std::string boot_id_;
  SpoolBudget& budget_;
  std::unique_ptr<DIR, Close> listing_;
};

}  // namespace cay::keeper
