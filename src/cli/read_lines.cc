#include "cli/read_lines.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace cay::cli {

void read_lines(int fd, std::size_t longest, const std::function<void(std::string)>& push) {
  std::string line;
  std::array<char, 64 * 1024> buffer{};
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    std::string_view rest(buffer.data(), static_cast<std::size_t>(got));
    const auto room = [&] { return longest - std::min(longest, line.size()); };
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      line.append(rest.substr(0, std::min(end, room())));
      rest.remove_prefix(end + 1);
      push(std::exchange(line, {}));
    }
    line.append(rest.substr(0, room()));
  }
}

}  // namespace cay::cli
