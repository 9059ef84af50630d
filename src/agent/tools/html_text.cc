#include "agent/tools/html_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "codec/utf8.h"

namespace cay::agent {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }

std::string utf8_of(std::uint32_t code) {
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
  std::string out;
  const auto byte = [&](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
  return out;
}

// The text of "&name;" without its '&' and ';'. Empty: it is none that is known.
std::string entity(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kNamed{{
      {"amp", "&"},
      {"lt", "<"},
      {"gt", ">"},
      {"quot", "\""},
      {"apos", "'"},
      {"nbsp", " "},
      {"mdash", "\xE2\x80\x94"},
      {"ndash", "\xE2\x80\x93"},
      {"hellip", "\xE2\x80\xA6"},
      {"copy", "\xC2\xA9"},
      {"rsquo", "\xE2\x80\x99"},
      {"lsquo", "\xE2\x80\x98"},
      {"ldquo", "\xE2\x80\x9C"},
      {"rdquo", "\xE2\x80\x9D"},
  }};
  for (const auto& [known, text] : kNamed) {
    if (known == name) return std::string(text);
  }
  if (name.size() < 2 || name[0] != '#') return {};
  const bool hex = lower(name[1]) == 'x';
  std::uint32_t code = 0;
  for (const char c : name.substr(hex ? 2 : 1)) {
    const int digit = hex ? hex_digit(c) : (is_digit(c) ? c - '0' : -1);
    if (digit < 0 || code > 0x10FFFF) return {};
    code = code * (hex ? 16 : 10) + static_cast<std::uint32_t>(digit);
  }
  return utf8_of(code);
}

// Elements whose content is no text of the page.
bool is_hidden(std::string_view tag) {
  return tag == "script" || tag == "style" || tag == "noscript" || tag == "template" ||
         tag == "svg" || tag == "iframe";
}

bool is_block(std::string_view tag) {
  static constexpr std::array<std::string_view, 33> kBlocks{
      "p",     "div",     "br",  "hr",         "li",     "ul",    "ol",   "tr",    "table",
      "thead", "tbody",   "h1",  "h2",         "h3",     "h4",    "h5",   "h6",    "section",
      "main",  "article", "nav", "header",     "footer", "aside", "form", "title", "pre",
      "dl",    "dt",      "dd",  "blockquote", "figure", "option"};
  return std::find(kBlocks.begin(), kBlocks.end(), tag) != kBlocks.end();
}

class Page {
 public:
  explicit Page(std::string_view html) : rest_(html) {}

  std::string text() {
    while (!rest_.empty()) {
      if (rest_.front() == '<') {
        take_tag();
      } else {
        take_text();
      }
    }
    while (!out_.empty() && is_blank(out_.back())) out_.pop_back();
    return std::move(out_);
  }

 private:
  // Up to and with the next `end`, whatever its case.
  void skip_past(std::string_view end) {
    const auto found = std::search(rest_.begin(), rest_.end(), end.begin(), end.end(),
                                   [](char a, char b) { return lower(a) == lower(b); });
    const auto length = static_cast<std::size_t>(found - rest_.begin());
    rest_.remove_prefix(std::min(length + end.size(), rest_.size()));
  }

  void take_tag() {
    if (rest_.starts_with("<!--")) return skip_past("-->");
    std::size_t at = 1;
    const bool closing = at < rest_.size() && rest_[at] == '/';
    if (closing) ++at;
    const std::size_t begin = at;
    while (at < rest_.size() && (is_letter(rest_[at]) || is_digit(rest_[at]))) ++at;
    const std::string tag = lowered(rest_.substr(begin, at - begin));
    if (tag.empty() && !closing && !rest_.starts_with("<!") && !rest_.starts_with("<?")) {
      rest_.remove_prefix(1);
      return add('<');
    }
    skip_attributes(at);
    if (!closing && is_hidden(tag)) {
      skip_past("</" + tag);
      return skip_past(">");
    }
    if (tag == "pre") preformatted_ = !closing;
    if (is_block(tag)) end_line(tag == "p" || tag.starts_with('h') || tag == "title" ? 2 : 1);
    if (closing) return;
    if (tag == "li") out_ += "- ";
    if (tag == "td" || tag == "th") add(' ');
    if (tag.size() == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6') {
      out_.append(static_cast<std::size_t>(tag[1] - '0'), '#');
      out_ += ' ';
    }
  }

  // Up to the '>' that ends the tag: one in quotes does not.
  void skip_attributes(std::size_t at) {
    char quote = '\0';
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        break;
      }
    }
    rest_.remove_prefix(std::min(at + 1, rest_.size()));
  }

  void take_text() {
    const char c = rest_.front();
    if (c == '&') {
      constexpr std::size_t kLongest = 10;
      const auto end = rest_.substr(0, kLongest).find(';');
      if (end != std::string_view::npos) {
        const auto text = entity(rest_.substr(1, end - 1));
        if (!text.empty()) {
          rest_.remove_prefix(end + 1);
          for (const char part : text) add(part);
          return;
        }
      }
    }
    rest_.remove_prefix(1);
    add(c);
  }

  void add(char c) {
    if (!preformatted_ && is_blank(c)) {
      if (!out_.empty() && !is_blank(out_.back())) out_ += ' ';
      return;
    }
    out_ += c;
  }

  void end_line(std::size_t lines) {
    while (!out_.empty() && (out_.back() == ' ' || out_.back() == '\t')) out_.pop_back();
    if (out_.empty()) return;
    std::size_t have = 0;
    while (have < out_.size() && out_[out_.size() - 1 - have] == '\n') ++have;
    if (have < lines) out_.append(lines - have, '\n');
  }

  std::string_view rest_;
  std::string out_;
  bool preformatted_ = false;
};

}  // namespace

std::string html_text(std::string_view html) {
  const std::string valid = codec::sanitised_utf8(html);
  return Page(valid).text();
}

}  // namespace cay::agent
