// The hosts that a sandbox used, and how a policy would treat them: `cay policy try`, before it is
// held closer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"

namespace cay::cli {

// A place as people write it: "HOST", "HOST:PORT", "[ADDRESS]:PORT" or a URL. A URL gives its host,
// its path, and its own port or that of its scheme. Throws ApiError.
struct Target {
  std::string host;
  std::optional<int> port;
  std::string path{};  // empty: none is meant
};
Target target_of(const std::string& text);

// Returns the one host, or address, that a rule lets through, with its only port if it has one.
// nullopt: the rule is for several, refuses, or is no host's.
std::optional<Target> one_host(const std::string& rule);

struct Used {
  std::string host;
  int port = 0;  // 0: only its name was looked up
  std::uint64_t count = 0;
  bool allowed = false;
  bool passes = false;             // allowed, then or by now
  std::string in_the_way, advice;  // of what no rule lets through
  std::string text() const;        // as a rule writes it
  bool operator==(const Used&) const = default;
};

// Returns each host and port of a sandbox's report once. Hosts of proxy rules (`proxied`, as they
// are written) need no policy, and are left out.
std::vector<Used> used_of(const codec::json::object& report,
                          const std::vector<std::string>& proxied);

// Whether it lets through what none of its rules matches: what was tried is what the programs need.
bool lets_all_through(const codec::json::object& report);

}  // namespace cay::cli
