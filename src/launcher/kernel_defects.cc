#include "launcher/kernel_defects.h"

#include <charconv>
#include <span>

namespace cay::launcher {
namespace {

// From the first version that has it to the first that has it no more.
struct Range {
  KernelVersion first, mended;
};

// Versions as the CVE records give them (cve.org, nvd.nist.gov).
constexpr Range kStackRot[] = {
    {{6, 1, 0}, {6, 1, 37}}, {{6, 2, 0}, {6, 3, 11}}, {{6, 4, 0}, {6, 4, 1}}};
constexpr Range kUnixOutOfBand[] = {{{6, 1, 0}, {6, 1, 143}},
                                    {{6, 2, 0}, {6, 6, 96}},
                                    {{6, 7, 0}, {6, 12, 36}},
                                    {{6, 13, 0}, {6, 15, 5}}};
constexpr Range kUnixCollector[] = {{{6, 1, 141}, {6, 2, 0}},
                                    {{6, 6, 93}, {6, 7, 0}},
                                    {{6, 10, 0}, {6, 18, 23}},
                                    {{6, 19, 0}, {6, 19, 10}}};
constexpr Range kEventPoll[] = {{{6, 4, 0}, {6, 6, 136}},
                                {{6, 7, 0}, {6, 12, 83}},
                                {{6, 13, 0}, {6, 18, 24}},
                                {{6, 19, 0}, {6, 19, 14}}};

struct Known {
  std::string_view id, what;
  std::span<const Range> ranges;
};
constexpr Known kKnown[] = {
    {"CVE-2023-3269", "StackRot: memory mappings", kStackRot},
    {"CVE-2025-38236", "out-of-band data of UNIX sockets", kUnixOutOfBand},
    {"CVE-2026-23394", "descriptors in flight between UNIX sockets", kUnixCollector},
    {"CVE-2026-43074", "closing epoll descriptors", kEventPoll},
};

// "6.1.153-1 …": the numbers that it begins with; none if there are not three.
std::optional<KernelVersion> numbers(std::string_view text) {
  KernelVersion found;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int* part : {&found.major, &found.minor, &found.patch}) {
    const auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc()) return std::nullopt;
    at = next;
    if (part == &found.patch) return found;
    if (at == end || *at != '.') return std::nullopt;
    ++at;
  }
  return found;
}

}  // namespace

std::optional<KernelVersion> upstream_version(std::string_view release, std::string_view version,
                                              std::string_view signature) {
  // "Ubuntu 6.8.0-49.49-generic 6.8.12": its last word.
  if (!signature.empty()) return numbers(signature.substr(signature.rfind(' ') + 1));
  // "#1 SMP PREEMPT_DYNAMIC Debian 6.1.153-1 (2025-09-20)"
  constexpr std::string_view kDebian = " Debian ";
  if (const std::size_t debian = version.find(kDebian); debian != std::string_view::npos)
    return numbers(version.substr(debian + kDebian.size()));
  auto found = numbers(release);
  // "6.12.0-124.el10": the patches that a distribution took are not in its number.
  if (found && found->patch == 0 && release.find('-') != std::string_view::npos)
    return std::nullopt;
  return found;
}

std::vector<KernelDefect> known_defects(const KernelVersion& running) {
  std::vector<KernelDefect> found;
  for (const Known& one : kKnown) {
    for (const Range& range : one.ranges) {
      if (running >= range.first && running < range.mended) found.push_back({one.id, one.what});
    }
  }
  return found;
}

}  // namespace cay::launcher
