// Kernel defects that code inside a sandbox could use. They lie behind calls that every program
// needs, which the filter allows. Defects behind refused calls (AF_ALG, io_uring, netfilter, user
// namespaces …) are not among them.
#pragma once
#include <compare>
#include <optional>
#include <string_view>
#include <vector>

namespace cay::launcher {

struct KernelVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const KernelVersion&) const = default;
};

// Returns the running version of kernel.org, from uname(2)'s `release` and `version` and
// /proc/version_signature (Ubuntu's, else empty). None: the distribution's own numbers do not show
// it.
std::optional<KernelVersion> upstream_version(std::string_view release, std::string_view version,
                                              std::string_view signature);

struct KernelDefect {
  std::string_view id, what;
};
// By their records of 2026-06; a distribution may have mended one under the same number.
std::vector<KernelDefect> known_defects(const KernelVersion& running);

}  // namespace cay::launcher
