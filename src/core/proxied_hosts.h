// A host as a sandbox's proxy rules treat it, as far as a dry run can show it. The gate hands a
// rule's host to the broker, which checks methods and paths. A rule without a secret, a fence,
// opens nothing, and no connection gets past it (decision 0023).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/proxy.h"

namespace cay::core {

// A host of one of the sandbox's proxy rules.
struct ProxiedHost {
  enum class Kind : std::uint8_t {
    kSecret,
    kFence,
    kBaseUrl
  };  // kBaseUrl: reached by another address, its own name is the policy's
  std::string rule;
  ProxyHost host;
  Kind kind = Kind::kSecret;
  bool gone = false;                            // its secret was removed
  std::vector<std::string> methods{}, paths{};  // empty: all
};

struct ByProxy {
  std::string rules;   // their names, as "'a', 'b'"; empty: none is for it
  bool opens = false;  // whatever the policy is: one of the rules has a secret
  std::string reason;  // the rules' reason to refuse it; empty: they allow it
  std::string note;    // what of it alone they let through; empty: all
};

// `path`, as it stands in a URL; empty: none is meant. One that could be read in more than one way
// is the broker's to judge.
ByProxy by_proxy(std::span<const ProxiedHost> all, const std::string& host, std::uint16_t port,
                 const std::string& path);

}  // namespace cay::core
