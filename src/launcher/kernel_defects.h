// Kernel defects that code inside a sandbox could use: they lie behind calls that every program needs, which the filter lets through.
// What lies behind refused calls (AF_ALG, io_uring, netfilter, user namespaces …) is not among them.
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

// The version of kernel.org that runs, of uname(2)'s `release` and `version` and of /proc/version_signature (Ubuntu's; else empty).
// None: a distribution's own numbers, which do not tell.
std::optional<KernelVersion> upstream_version(std::string_view release, std::string_view version, std::string_view signature);

struct KernelDefect {
  std::string_view id, what;
};
// By their records of 2026-06; a distribution may have mended one under the same number.
std::vector<KernelDefect> known_defects(const KernelVersion& running);

}  // namespace cay::launcher
