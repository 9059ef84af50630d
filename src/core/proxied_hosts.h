// What a sandbox's proxy rules make of a host, as far as a dry run can say it: the gate hands a host of theirs to the broker, which goes by methods and
// paths; a rule without a secret, a fence, opens nothing, and lets nobody past it (decision 0023).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/proxy.h"

namespace cay::core {

// A host of one of the sandbox's proxy rules.
struct ProxiedHost {
  enum class Kind : std::uint8_t { kSecret, kFence, kBaseUrl };  // kBaseUrl: reached by another address, its own name is the policy's
  std::string rule;
  ProxyHost host;
  Kind kind = Kind::kSecret;
  bool gone = false;  // its secret was removed
  std::vector<std::string> methods{}, paths{};  // empty: all
};

struct ByProxy {
  std::string rules;   // their names, as "'a', 'b'"; empty: none is for it
  bool opens = false;  // whatever the policy says: one of them has a secret
  std::string reason;  // why they refuse it; empty: they let it through
  std::string note;    // what of it alone they let through; empty: all
};

// `path`, as it stands in a URL; empty: none is meant. One that could be read in more than one way is the broker's to judge.
ByProxy by_proxy(std::span<const ProxiedHost> all, const std::string& host, std::uint16_t port, const std::string& path);

}  // namespace cay::core
