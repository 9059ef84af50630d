// Values as people write them: sizes, times, labels, signals, SANDBOX:path. Errors show a right
// one.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cay/types.h"

namespace cay::cli {

// "1048576", "512k", "128MiB", "2g", "1.5GiB" (binary), "500MB" (decimal).
Result<std::uint64_t> parse_size(std::string_view text);
// "/tmp" or "/tmp:size=512MiB": the path and its bytes, 0 where no size is named.
Result<std::pair<std::string, std::uint64_t>> parse_tmpfs(std::string_view text);
// NAME:/path, NAME:/path:ro or NAME:/path:shared.
Result<sdk::VolumeMount> parse_volume(std::string_view text);
// Seconds: "90", "1.5", "90s", "10m", "2h", "1d", "250ms".
Result<double> parse_duration(std::string_view text);
// A timer, in whole seconds: a time, or "never" (0 and -1, too), which is 0. Up: a part of a second
// must not become never.
Result<std::int64_t> parse_timer(std::string_view text);
// "0.5" -> 500.
Result<std::uint32_t> parse_cpus(std::string_view text);
// "200"; not 0, which would be sent as "the default".
Result<std::uint32_t> parse_count(std::string_view text);
// "K=V"; the value may hold '='.
Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts,
                                                       std::string_view what);
// -e K=V, or -e K: the value of this environment.
Result<std::map<std::string, std::string>> parse_env(const std::vector<std::string>& texts);
// "TERM", "SIGTERM", "15".
Result<int> parse_signal(std::string_view text);

struct CopyPath {
  std::optional<std::string> sandbox;  // absent: local
  std::string path;
};
// "box:/app" is inside; a local name with ':' is written "./a:b".
Result<CopyPath> parse_copy_path(const std::string& text);

struct PortPair {
  std::uint16_t local = 0;  // 0: any free one
  std::uint16_t remote = 0;
};
// "5432" is both; "15432:5432" is LOCAL:REMOTE.
Result<PortPair> parse_ports(std::string_view text);

// "1.5 GiB", "12 B".
std::string human_size(std::uint64_t bytes);
// The nearest of `known` if it is near enough to be meant: for "did you mean".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace cay::cli
