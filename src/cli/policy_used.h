// What a sandbox used, and what a policy would make of it: `cay policy try`, before it is held closer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"

namespace cay::cli {

// "HOST", "HOST:PORT" or "[ADDRESS]:PORT"; of a URL, its host, its path, and the port that its scheme or itself says. Throws ApiError.
struct Target {
  std::string host;
  std::optional<int> port;
  std::string path{};  // empty: none is meant
};
Target target_of(const std::string& text);

// The one host, or address, that a rule lets through, at its only port if it says one; nullopt: it is of several, refuses, or is no host's.
std::optional<Target> one_host(const std::string& rule);

struct Used {
  std::string host;
  int port = 0;  // 0: its name alone was asked for
  std::uint64_t count = 0;
  bool allowed = false;
  bool passes = false;  // allowed, then or by now
  std::string in_the_way, advice;  // of what no rule lets through
  std::string text() const;        // as a rule writes it
  bool operator==(const Used&) const = default;
};

// Each host and port of a sandbox's report once. What goes by proxy rules (`proxied`, as their hosts are written) needs no policy, and is left out.
std::vector<Used> used_of(const codec::json::object& report, const std::vector<std::string>& proxied);

// Whether it lets through what none of its rules matches: what was tried is what the programs need.
bool lets_all_through(const codec::json::object& report);

}  // namespace cay::cli
