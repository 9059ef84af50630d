// Moving: an open connection, as far as others look at it: what it was let through for, and what it has moved.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gate/decisions.h"
#include "gate/sockets.h"

namespace cay::gate {

// What was known of a connection when it was decided about.
struct Facts {
  std::vector<std::string> names;
  std::optional<std::string> shown;
  Endpoint to;
};

struct Moving {
  // A host that it was let through for, and the line of that.
  struct Asked {
    Facts facts{};
    std::string host{};
    Decisions::Line line{};
  };
  std::vector<Asked> asked{};  // the latest last: what moves is told of there. More than one: by requests over one connection
  bool is_heard = false;  // names that its first bytes show count, though no rule asked for one
  std::uint64_t sent = 0, received = 0, told_sent = 0, told_received = 0;
  std::function<void()> cut{};  // resets it, whatever it is doing
};

}  // namespace cay::gate
