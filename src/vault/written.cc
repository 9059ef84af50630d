#include "vault/written.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr std::size_t kGroup = 3;  // bytes that become four letters
constexpr std::string_view kLower = "0123456789abcdef", kUpper = "0123456789ABCDEF";

using Digits = std::string_view;

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void put_hex(std::string& out, char c, Digits digits) {
  const auto byte = static_cast<unsigned char>(c);
  out += digits[byte >> 4];
  out += digits[byte & 15];
}
void put_percent(std::string& out, char c, Digits digits) {
  out += '%';
  put_hex(out, c, digits);
}
void put_unicode(std::string& out, char c, Digits digits) {
  out += "\\u00";
  put_hex(out, c, digits);
}

class Ways {
 public:
  explicit Ways(std::string_view secret) : secret_(secret) {}

  void add(std::string text) {
    const bool known = std::ranges::any_of(all_, [&](const Wiped& one) { return one.view() == text; });
    if (known || text.size() < kLeastWritten) {
      wipe(text);
    } else {
      all_.emplace_back(std::move(text));
    }
  }
  // `put` writes one byte of the secret.
  template <class Put>
  void add_each(Put put) {
    std::string text;
    text.reserve(secret_.size() * kMostGrowth);
    for (const char c : secret_) put(text, c);
    add(std::move(text));
  }
  std::string_view secret() const { return secret_; }
  std::vector<Wiped> all() && { return std::move(all_); }

 private:
  std::string_view secret_;
  std::vector<Wiped> all_;
};

// The letters that depend on the secret alone, for each of its three places in a group.
void add_base64(Ways& ways) {
  for (std::size_t before = 0; before < kGroup; ++before) {
    std::string padded(before, '\0');
    padded += ways.secret();
    std::string text = codec::base64(padded);
    wipe(padded);
    const std::size_t first = (before * 4 + 2) / 3;  // the letters that hold bits of what is before it
    const std::size_t last = (before + ways.secret().size()) * 8 / 6;  // ... and of what is behind it
    std::string own = text.substr(first, last - first);
    wipe(text);
    std::string safe = own;  // the alphabet for URLs
    std::ranges::replace(safe, '+', '-');
    std::ranges::replace(safe, '/', '_');
    ways.add(std::move(own));
    ways.add(std::move(safe));
  }
}

void add_percent(Ways& ways, Digits digits) {
  struct Writer {
    std::string_view keeps;
    bool plus;  // for a blank
  };
  // RFC 3986 (curl, PHP, Python's quote_plus), forms (WHATWG), encodeURIComponent, Python's quote, encodeURI.
  constexpr Writer kWriters[] = {{"-_.~", false},      {"-_.~", true},   {"-_.*", true},
                                 {"-_.!~*'()", false}, {"-_.~/", false}, {";,/?:@&=+$-_.!~*'()#", false}};
  ways.add_each([&](std::string& out, char c) { put_percent(out, c, digits); });
  for (const Writer& writer : kWriters) {
    ways.add_each([&](std::string& out, char c) {
      if (writer.plus && c == ' ') {
        out += '+';
      } else if (is_alphanumeric(c) || writer.keeps.find(c) != std::string_view::npos) {
        out += c;
      } else {
        put_percent(out, c, digits);
      }
    });
  }
}

void add_json(Ways& ways, Digits digits) {
  // What is written as \u00XX though it need not be: by nobody, Go, PHP, Gson, .NET.
  constexpr std::string_view kCareful[] = {"", "<>&", "<>&'", "<>&'=", "<>&'\"+`"};
  ways.add_each([&](std::string& out, char c) { put_unicode(out, c, digits); });
  for (const std::string_view careful : kCareful) {
    for (const std::string_view escaped : {"\"\\", "\"\\/"}) {
      ways.add_each([&](std::string& out, char c) {
        if (careful.find(c) != std::string_view::npos) return put_unicode(out, c, digits);
        if (escaped.find(c) != std::string_view::npos) out += '\\';
        out += c;
      });
    }
  }
}

void add_html(Ways& ways) {
  ways.add_each([](std::string& out, char c) { out += "&#" + std::to_string(static_cast<unsigned char>(c)) + ";"; });
  for (const Digits digits : {kLower, kUpper}) {
    ways.add_each([&](std::string& out, char c) {
      out += "&#x";
      put_hex(out, c, digits);
      out += ';';
    });
  }
  for (const std::string_view quote : {"&quot;", "&#34;", "\""}) {
    for (const std::string_view apostrophe : {"&#39;", "&#039;", "&#x27;", "&apos;", "'"}) {
      ways.add_each([&](std::string& out, char c) {
        switch (c) {
          case '&': out += "&amp;"; break;
          case '<': out += "&lt;"; break;
          case '>': out += "&gt;"; break;
          case '"': out += quote; break;
          case '\'': out += apostrophe; break;
          default: out += c;
        }
      });
    }
  }
}

}  // namespace

std::vector<Wiped> written(std::string_view secret) {
  Ways ways(secret.substr(0, kMostSought));
  ways.add(std::string(ways.secret()));
  add_base64(ways);
  for (const Digits digits : {kLower, kUpper}) {
    ways.add_each([&](std::string& out, char c) { put_hex(out, c, digits); });
    add_percent(ways, digits);
    add_json(ways, digits);
  }
  add_html(ways);
  std::string wide;  // as both orders of UTF-16 have it
  wide.reserve(ways.secret().size() * 2);
  for (const char c : ways.secret()) {
    if (!wide.empty()) wide += '\0';
    wide += c;
  }
  ways.add(std::move(wide));
  return std::move(ways).all();
}

}  // namespace cay::vault
