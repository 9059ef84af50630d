#include "core/build_output.h"

#include <algorithm>

#include "base/wiped_memory.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostLog = std::size_t{4} << 20;
constexpr std::size_t kDroppedAtOnce = std::size_t{256} << 10;
constexpr std::size_t kMostAtOnce = std::size_t{256} << 10;
constexpr std::size_t kTailBytes = 2048;
constexpr int kTailLines = 10;
constexpr std::string_view kInsteadOfSecret = "***";

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

// Returns the text without the first part of a character at its end. The rest of it comes later.
std::string_view whole_characters(std::string_view text) {
  std::size_t last = text.size();
  while (last > 0 && text.size() - last < 3 && continues(text[last - 1])) --last;
  if (last == 0) return text;
  const auto lead = static_cast<unsigned char>(text[last - 1]);
  const std::size_t length = lead >= 0xf0U ? 4 : lead >= 0xe0U ? 3 : lead >= 0xc0U ? 2 : 1;
  return text.size() - (last - 1) < length ? text.substr(0, last - 1) : text;
}

}  // namespace

BuildOutput::BuildOutput(asio::any_io_executor loop, std::vector<std::string> secrets)
    : secrets_(std::move(secrets)), more_(std::move(loop)) {
  std::erase(secrets_, std::string());
  std::ranges::sort(secrets_, std::ranges::greater(), &std::string::size);
  if (!secrets_.empty()) longest_ = secrets_.front().size();
}

BuildOutput::~BuildOutput() {
  for (std::string& secret : secrets_) wipe(secret);
  wipe(held_);
}

void BuildOutput::append(std::string_view bytes) {
  if (bytes.empty()) return;
  kept_ += bytes;
  if (kept_.size() > kMostLog) {
    // Some more at once: each time moves the rest.
    const std::size_t gone = kept_.size() - kMostLog + kDroppedAtOnce;
    kept_.erase(0, gone);
    begin_ += gone;
  }
  more_.notify();
}

void BuildOutput::line(std::string_view text) {
  end_output();
  if (!kept_.empty() && kept_.back() != '\n') append("\n");
  held_ += text;
  held_ += '\n';
  pass(0);
  command_ = end();
}

void BuildOutput::output(std::string_view bytes) {
  held_ += bytes;
  pass(longest_ == 0 ? 0 : longest_ - 1);
}

void BuildOutput::end_output() { pass(0); }

void BuildOutput::close() {
  end_output();
  closed_ = true;
  more_.set();
}

// Appends what is held, but for its last bytes, and replaces each secret.
void BuildOutput::pass(std::size_t hold_back) {
  std::string out;
  std::size_t at = 0;
  for (;;) {
    std::size_t first = std::string::npos;
    std::size_t length = 0;
    for (const std::string& secret : secrets_) {
      const std::size_t found = held_.find(secret, at);
      if (found >= first) continue;
      first = found;
      length = secret.size();
    }
    if (first == std::string::npos) break;
    out.append(held_, at, first - at);
    out += kInsteadOfSecret;
    at = first + length;
  }
  const std::size_t end = held_.size() - std::min(held_.size() - at, hold_back);
  out.append(held_, at, end - at);
  std::string rest = held_.substr(end);
  wipe(held_);
  held_ = std::move(rest);
  append(out);
}

std::string BuildOutput::tail() const {
  const std::uint64_t from = std::max(command_, begin_);
  std::string_view text = std::string_view(kept_).substr(static_cast<std::size_t>(from - begin_));
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() > kTailBytes) text.remove_prefix(text.size() - kTailBytes);
  std::size_t at = text.size();
  for (int lines = 0; lines < kTailLines && at != std::string_view::npos && at > 0; ++lines)
    at = text.rfind('\n', at - 1);
  if (at != std::string_view::npos && at < text.size() && text[at] == '\n')
    text.remove_prefix(at + 1);
  while (!text.empty() && continues(text.front())) text.remove_prefix(1);
  return std::string(text);
}

BuildOutput::Text BuildOutput::text(std::uint64_t offset) const {
  Text out;
  out.from = std::clamp(offset, begin_, end());
  std::string_view rest =
      std::string_view(kept_).substr(static_cast<std::size_t>(out.from - begin_));
  const bool is_last = closed_ && rest.size() <= kMostAtOnce;
  rest = rest.substr(0, kMostAtOnce);
  out.text = is_last ? rest : whole_characters(rest);
  return out;
}

asio::awaitable<void> BuildOutput::wait(std::uint64_t offset, std::chrono::milliseconds most) {
  const auto deadline = deadline_in(most);
  while (!closed_ && text(offset).text.empty()) {
    const bool more = co_await more_.wait_until(deadline);
    if (!more) break;
  }
}

}  // namespace cay::core
