#include "providers/text_page.h"

#include <algorithm>

#include "codec/utf8.h"

namespace cay::providers {
namespace {

constexpr std::size_t kSniffed = 8192;

// Reads the lines of a text, whatever ends them: LF, CRLF or CR.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  // False: there is none.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const auto end = rest_.find_first_of("\r\n");
    line = rest_.substr(0, end);
    ended_ = end != std::string_view::npos;
    if (!ended_) {
      rest_ = {};
      return true;
    }
    const bool pair = rest_.substr(end, 2) == "\r\n";
    rest_.remove_prefix(end + (pair ? 2 : 1));
    return true;
  }
  bool ended() const { return ended_; }  // the last line had its end

 private:
  std::string_view rest_;
  bool ended_ = true;
};

std::uint64_t count_lines(std::string_view text) {
  Lines lines(text);
  std::string_view line;
  std::uint64_t count = 0;
  while (lines.next(line)) ++count;
  return count;
}

// Adds a line to the page. False: it has no room.
bool add_line(FilePage& page, std::string_view line, std::uint64_t number) {
  const bool first = page.first_line == 0;
  if (page.text.size() + line.size() + 1 > kMostPage) {
    page.cut = true;
    if (!first) return false;
    line = line.substr(0, codec::previous_boundary(line, kMostPage));
  }
  if (first) {
    page.first_line = number;
  } else {
    page.text += '\n';
  }
  page.text += line;
  page.last_line = number;
  return !page.cut;
}

}  // namespace

bool looks_like_text(std::string_view content) {
  auto head = content.substr(0, kSniffed);
  if (content.size() > kSniffed) head.remove_suffix(codec::broken_end(head));
  return head.find('\0') == std::string_view::npos && codec::is_utf8(head);
}

Error offset_past_end(std::uint64_t offset, std::uint64_t lines) {
  return {Code::kOutOfRange, "offset_past_end",
          "Line offset " + std::to_string(offset) + " exceeds file length (" +
              std::to_string(lines) + " lines)"};
}

Result<FilePage> page_of(std::string_view content, std::uint64_t offset, std::uint64_t limit) {
  FilePage page;
  page.size = content.size();
  if (!looks_like_text(content)) {
    page.binary = true;
    return page;
  }
  const std::uint64_t total = count_lines(content);
  if (total == 0) return page;
  if (offset >= total) return offset_past_end(offset, total);
  page.total_lines = total;
  Lines lines(content);
  std::string_view line;
  for (std::uint64_t number = 1; lines.next(line) && number <= offset + limit; ++number) {
    if (number > offset && !add_line(page, line, number)) break;
  }
  page.text = codec::sanitised_utf8(page.text);
  return page;
}

FilePage page_of_part(std::string_view part, std::uint64_t offset, std::uint64_t limit,
                      std::uint64_t size) {
  FilePage page;
  page.size = size;
  if (!looks_like_text(part)) {
    page.binary = true;
    return page;
  }
  const bool full = part.size() >= kMostPage;
  Lines lines(part);
  std::string_view line;
  std::uint64_t number = offset;
  while (lines.next(line)) {
    ++number;
    const bool partial = full && !lines.ended();
    if (partial && page.first_line != 0) {
      page.cut = true;
      break;
    }
    if (!add_line(page, line, number)) break;
    page.cut = page.cut || partial;
  }
  if (!page.cut && page.last_line < offset + limit && page.first_line != 0) {
    page.total_lines = page.last_line;
  }
  page.text = codec::sanitised_utf8(page.text);
  return page;
}

}  // namespace cay::providers
