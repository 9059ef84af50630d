#include "cli/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/exit_code.h"
#include "cli/render.h"

namespace cay::cli {

Written write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto done = ::write(fd, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN) {  // somebody made our stdout non-blocking
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      return Written::kBrokenPipe;
    } else if (errno != EINTR) {
      return Written::kFailed;
    }
  }
  return Written::kAll;
}

void print(std::string_view text) {
  const Written done = write_all(STDOUT_FILENO, text);
  if (done == Written::kAll) return;
  if (done == Written::kFailed)
    print_error(std::string("cannot write to stdout: ") + std::strerror(errno));
  std::_Exit(done == Written::kBrokenPipe ? kBrokenPipe : kOurFailure);
}

void print_error(std::string_view line) {
  write_all(STDERR_FILENO, "cay: " + printable(line, Newlines::kKept) + "\n");
}

}  // namespace cay::cli
