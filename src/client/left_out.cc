#include "client/left_out.h"

#include <utility>

#include "codec/utf8.h"

namespace cay::client {

std::string short_path(std::string_view path) {
  constexpr std::size_t kLongest = 200;
  constexpr std::size_t kPart = 98;
  if (path.size() <= kLongest) return std::string(path);
  std::string_view begin = path.substr(0, kPart);
  std::string_view end = path.substr(path.size() - kPart);
  begin.remove_suffix(codec::broken_end(begin));
  end.remove_prefix(codec::broken_begin(end));
  return std::string(begin) + "…" + std::string(end);
}

void leave_out(sdk::CopyReport& report, std::string_view path, std::string reason) {
  constexpr std::size_t kMostNamed = 1000;
  if (++report.left_out > kMostNamed) return;
  report.skipped.push_back({short_path(path), std::move(reason)});
}

}  // namespace cay::client
