#include "cli/values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/ascii.h"

namespace cay::cli {
namespace {

Error bad(std::string message) {
  return {Code::kInvalidArgument, "bad_value", std::move(message), 0};
}

// A number at the front of `text`; `text` becomes what follows it. Not negative.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct Unit {
  std::string_view name;
  double factor;
};

}  // namespace

Result<PortPair> parse_ports(std::string_view text) {
  const auto port = [](std::string_view digits, int least) -> std::optional<std::uint16_t> {
    int value = -1;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failed != std::errc() || end != digits.data() + digits.size() || value < least ||
        value > 65535)
      return std::nullopt;
    return static_cast<std::uint16_t>(value);
  };
  const auto colon = text.find(':');
  const auto remote = port(colon == std::string_view::npos ? text : text.substr(colon + 1), 1);
  const auto local = colon == std::string_view::npos ? remote : port(text.substr(0, colon), 0);
  if (!remote || !local)
    return bad("'" + std::string(text) + "' is no pair of ports: write it like 5432 or 15432:5432");
  return PortPair{*local, *remote};
}

Result<std::pair<std::string, std::uint64_t>> parse_tmpfs(std::string_view text) {
  constexpr std::string_view kSize = ":size=";
  const std::size_t at = text.find(':');
  const std::string path(text.substr(0, at));
  if (!path.starts_with('/') ||
      (at != std::string_view::npos && !text.substr(at).starts_with(kSize))) {
    return bad("'" + std::string(text) +
               "' is no file system in memory: write it like /tmp or /tmp:size=1GiB");
  }
  if (at == std::string_view::npos) return std::pair(path, std::uint64_t{0});
  CAY_TRY(const std::uint64_t bytes, parse_size(text.substr(at + kSize.size())));
  if (bytes == 0)
    return bad("'" + std::string(text) +
               "' has no room: leave the size out for half of the memory");
  return std::pair(path, bytes);
}

Result<sdk::VolumeMount> parse_volume(std::string_view text) {
  sdk::VolumeMount out;
  const std::size_t at = text.find(":/");
  out.volume = text.substr(0, at);
  if (at != std::string_view::npos) out.path = text.substr(at + 1);
  for (const std::string_view mode : {":ro", ":rw", ":shared"}) {
    if (!out.path.ends_with(mode)) continue;
    out.path.resize(out.path.size() - mode.size());
    out.read_only = mode == ":ro";
    out.shared = mode == ":shared";
    break;
  }
  if (out.volume.empty() || out.path.empty())
    return bad("'" + std::string(text) +
               "' is no volume: write it like data:/data, data:/data:ro or data:/data:shared");
  return out;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  static constexpr std::array<Unit, 18> kUnits{{{"", 1},
                                                {"b", 1},
                                                {"k", 1024},
                                                {"kib", 1024},
                                                {"kb", 1e3},
                                                {"m", 1048576},
                                                {"mib", 1048576},
                                                {"mb", 1e6},
                                                {"g", 1073741824},
                                                {"gib", 1073741824},
                                                {"gb", 1e9},
                                                {"t", 1099511627776},
                                                {"tib", 1099511627776},
                                                {"tb", 1e12},
                                                {"ki", 1024},
                                                {"mi", 1048576},
                                                {"gi", 1073741824},
                                                {"ti", 1099511627776}}};
  std::string_view rest = text;
  const auto value = take_number(rest);
  const std::string unit = lowered(rest);
  const auto found = std::ranges::find(kUnits, unit, &Unit::name);
  constexpr double kMost = 9e18;
  if (!value || found == kUnits.end() || *value * found->factor > kMost) {
    return bad("'" + std::string(text) + "' is no size: write it like 512MiB or 2GiB");
  }
  return static_cast<std::uint64_t>(*value * found->factor);
}

Result<double> parse_duration(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits{
      {{"", 1}, {"s", 1}, {"ms", 0.001}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  std::string_view rest = text;
  const auto value = take_number(rest);
  const auto found = std::ranges::find(kUnits, rest, &Unit::name);
  constexpr double kMost = 3.2e9;  // a hundred years
  if (!value || found == kUnits.end() || *value * found->factor > kMost) {
    return bad("'" + std::string(text) + "' is no time: write it like 90, 1.5s, 10m, 2h or 30d");
  }
  return *value * found->factor;
}

Result<std::int64_t> parse_timer(std::string_view text) {
  if (text == "never" || text == "-1") return 0;
  const auto seconds = parse_duration(text);
  if (!seconds) return bad(seconds.error().message + ", or never");
  return static_cast<std::int64_t>(std::ceil(*seconds));
}

Result<std::uint32_t> parse_cpus(std::string_view text) {
  std::string_view rest = text;
  const auto value = take_number(rest);
  constexpr double kMost = 4096;
  constexpr double kLeast = 0.001;  // less would be sent as 0, which means the default
  if (!value || !rest.empty() || *value < kLeast || *value > kMost) {
    return bad("'" + std::string(text) + "' is no number of CPUs: write it like 2 or 0.5");
  }
  return static_cast<std::uint32_t>(std::lround(*value * 1000));
}

Result<std::uint32_t> parse_count(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value == 0) {
    return bad(
        "'" + std::string(text) +
        "' is no number above 0 that can be requested: write it like 200, or leave it out for "
        "the default");
  }
  return value;
}

Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts,
                                                       std::string_view what) {
  std::map<std::string, std::string> out;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return bad("'" + text + "' is no " + std::string(what) + ": write it like KEY=VALUE");
    }
    out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

Result<std::map<std::string, std::string>> parse_env(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> out;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (text.empty() || equals == 0)
      return bad("'" + text + "' is no variable: write it like KEY=VALUE, or KEY to pass yours on");
    if (equals != std::string::npos) {
      out[text.substr(0, equals)] = text.substr(equals + 1);
    } else if (const char* mine = std::getenv(text.c_str())) {
      out[text] = mine;
    }
  }
  return out;
}

Result<int> parse_signal(std::string_view text) {
  struct Named {
    std::string_view name;
    int number;
  };
  static constexpr std::array<Named, 16> kNames{{{"hup", SIGHUP},
                                                 {"int", SIGINT},
                                                 {"quit", SIGQUIT},
                                                 {"kill", SIGKILL},
                                                 {"usr1", SIGUSR1},
                                                 {"usr2", SIGUSR2},
                                                 {"term", SIGTERM},
                                                 {"stop", SIGSTOP},
                                                 {"cont", SIGCONT},
                                                 {"tstp", SIGTSTP},
                                                 {"abrt", SIGABRT},
                                                 {"alrm", SIGALRM},
                                                 {"pipe", SIGPIPE},
                                                 {"segv", SIGSEGV},
                                                 {"winch", SIGWINCH},
                                                 {"trap", SIGTRAP}}};
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr int kMost = 64;
  if (failed == std::errc() && end == text.data() + text.size() && number >= 0 && number <= kMost)
    return number;
  std::string name = lowered(text);
  if (name.starts_with("sig")) name.erase(0, 3);
  const auto found = std::ranges::find(kNames, name, &Named::name);
  if (found == kNames.end())
    return bad("'" + std::string(text) + "' is no signal: write it like TERM, SIGTERM or 15");
  return found->number;
}

Result<CopyPath> parse_copy_path(const std::string& text) {
  const auto colon = text.find(':');
  const auto slash = text.find('/');
  if (text.empty()) return bad("an empty path: write a local path, '-', or SANDBOX:/path");
  if (colon == std::string::npos || slash < colon) return CopyPath{std::nullopt, text};
  if (colon == 0 || colon + 1 == text.size())
    return bad("'" + text + "': write a path inside as SANDBOX:/path");
  std::string path = text.substr(colon + 1);
  if (path.front() != '/') path.insert(path.begin(), '/');
  return CopyPath{text.substr(0, colon), std::move(path)};
}

std::string human_size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  const bool whole = unit == 0 || value == std::floor(value);
  std::snprintf(text, sizeof text, whole ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

namespace {

std::size_t distance(std::string_view a,
                     std::string_view b) {  // Damerau-Levenshtein, adjacent swaps
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kFar = 100;
  constexpr std::size_t kLongest = 40;
  if (word.size() > kLongest) return {};
  std::string best;
  std::size_t best_distance = kFar;
  for (const auto& one : known) {
    const std::size_t now = distance(word, one);
    if (now < best_distance) {
      best = one;
      best_distance = now;
    }
  }
  return best_distance <= std::max<std::size_t>(1, word.size() / 3) + (word.size() > 2 ? 1 : 0)
             ? best
             : std::string();
}

}  // namespace cay::cli
