#include "cli/byte_meter.h"

#include <unistd.h>

#include <utility>

#include "cli/output.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

constexpr auto kNoLineBefore = std::chrono::milliseconds(700);
constexpr auto kBetweenLines = std::chrono::milliseconds(200);

}  // namespace

ByteMeter::ByteMeter(std::string done, bool quiet)
    : done_(std::move(done)),
      on_(!quiet && ::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + kNoLineBefore) {}

void ByteMeter::show(const sdk::Progress& moved) {
  const auto now = std::chrono::steady_clock::now();
  if (!on_ || now < next_) return;
  next_ = now + kBetweenLines;
  shown_ = true;
  std::string line = "\rcay: " + done_ + " " + human_size(moved.bytes);
  if (moved.files > 0) line += ", " + std::to_string(moved.files) + " entries";
  write_all(STDERR_FILENO, line + "\033[K");
}

void ByteMeter::clear() {
  if (shown_) write_all(STDERR_FILENO, "\r\033[K");
  shown_ = false;
}

}  // namespace cay::cli
