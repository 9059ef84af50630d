#include "vault/written.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr std::size_t kGroup = 3;  // bytes that become four letters
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void put_hex(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}
void put_unicode(std::string& out, char c) {
  out += "\\u00";
  put_hex(out, c);
}

void put_number(std::string& out, char c) {
  out += "&#x";
  put_hex(out, c);
  out += ';';
}
// What every writer of HTML escapes, and by one name.
bool put_entity(std::string& out, char c) {
  const std::string_view entity = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "";
  out += entity;
  return !entity.empty();
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

// The letters of base64 that depend on `text` alone, with so many bytes before it in its group.
std::string letters(std::string_view text, std::size_t before) {
  std::string padded(before, '\0');
  padded += text;
  std::string all = codec::base64(padded);
  wipe(padded);
  const std::size_t first = (before * 4 + 2) / 3;           // the letters that hold bits of what is before it
  const std::size_t last = (before + text.size()) * 8 / 6;  // ... and of what is behind it
  std::string own = all.substr(first, last - first);
  wipe(all);
  return own;
}

// As it stands in JSON, URLs and HTML.
void add_letters(Ways& ways, std::string_view own) {
  struct Writer {
    std::string_view plus, slash;
  };
  // As they are, for URLs, percent-encoding once and twice, .NET's JSON and HTML, Go's HTML, Mustache.
  constexpr Writer kWriters[] = {{"+", "/"},      {"-", "_"},     {"%2b", "%2f"},  {"%252b", "%252f"}, {"\\u002b", "/"},
                                 {"&#x2b;", "/"}, {"&#43;", "/"}, {"+", "&#x2f;"}};
  for (const Writer& writer : kWriters) {
    std::string text;
    text.reserve(own.size() * kMostGrowth);
    for (const char c : own) {
      if (c == '+') {
        text += writer.plus;
      } else if (c == '/') {
        text += writer.slash;
      } else {
        text += c;
      }
    }
    ways.add(std::move(text));
  }
}

void add_base64(Ways& ways) {
  for (std::size_t before = 0; before < kGroup; ++before) {
    const Wiped own(letters(ways.secret(), before));
    add_letters(ways, own.view());
    Wiped safe(std::string(own.view()));  // the alphabet for URLs
    std::ranges::replace(safe.bytes(), '+', '-');
    std::ranges::replace(safe.bytes(), '/', '_');
    for (std::size_t again = 0; again < kGroup; ++again) {
      for (const Wiped* inner : {&own, static_cast<const Wiped*>(&safe)}) {
        const Wiped outer(letters(inner->view(), again));
        add_letters(ways, outer.view());
      }
    }
  }
}

// What each byte has before it and behind it.
struct Between {
  std::string_view before, behind;
};

// `put` writes one byte. The last has nothing behind it.
template <class Put>
void add_list(Ways& ways, Between between, Put put) {
  std::string text;
  text.reserve(ways.secret().size() * kMostGrowth);
  for (const char c : ways.secret()) {
    text += between.before;
    put(text, c);
    text += between.behind;
  }
  text.resize(text.size() - between.behind.size());
  ways.add(std::move(text));
}

void add_numbers(Ways& ways) {
  // Dumps, fingerprints, arrays of C; Python's repr and C's strings.
  constexpr Between kHex[] = {{"", ""},    {"", " "},   {"", ":"},   {"", "-"},    {"", ","},
                              {"0x", ","}, {"0x", " "}, {"\\x", ""}, {"\\u{", "}"}};
  for (const Between& between : kHex) {
    add_list(ways, between, [](std::string& out, char c) { put_hex(out, c); });
  }
  const auto decimal = [](std::string& out, char c) { out += std::to_string(static_cast<unsigned char>(c)); };
  add_list(ways, {"", ","}, decimal);
  add_list(ways, {"", " "}, decimal);
  add_list(ways, {"\\", ""}, [](std::string& out, char c) {
    const auto byte = static_cast<unsigned char>(c);
    for (const int shift : {6, 3, 0}) out += kDigits[byte >> shift & 7];
  });
}

void add_percent(Ways& ways) {
  struct Writer {
    std::string_view keeps;
    bool plus;  // for a blank
  };
  // RFC 3986 (curl, PHP, Python's quote_plus), forms (WHATWG), encodeURIComponent, Python's quote, encodeURI; Go's segments and paths, Angular's, axios'.
  constexpr Writer kWriters[] = {{"-_.~", false},           {"-_.~", true},                      {"-_.*", true},
                                 {"-_.!~*'()", false},      {"-_.~/", false},                    {";,/?:@&=+$-_.!~*'()#", false},
                                 {"-_.~$&+=:@", false},     {"-_.~$&+=:@,/;", false},            {"-_.!~*'()@:$,;=?/", false},
                                 {"-_.!~*'()@:$,;=?/+", false}, {"-_.!~*'():$,[]", true}, {"-_.!~*'():$,", true}};
  for (const std::string_view percent : {"%", "%25"}) {  // a URL within a URL is written twice
    ways.add_each([&](std::string& out, char c) {
      out += percent;
      put_hex(out, c);
    });
    for (const Writer& writer : kWriters) {
      ways.add_each([&](std::string& out, char c) {
        if (writer.plus && c == ' ') {
          out += percent == "%" ? "+" : "%2b";
        } else if (is_alphanumeric(c) || writer.keeps.find(c) != std::string_view::npos) {
          out += c;
        } else {
          out += percent;
          put_hex(out, c);
        }
      });
    }
  }
}

void add_json(Ways& ways) {
  // What is written as \u00XX though it need not be: by nobody, Go, PHP, Gson, .NET, Django.
  constexpr std::string_view kCareful[] = {"", "<>&", "<>&'", "<>&'=", "<>&'\"+`", "\\<>&'\"=-;`"};
  ways.add_each([](std::string& out, char c) { put_unicode(out, c); });
  // What is put into a script: by Twig, by OWASP's encoders.
  for (const std::string_view keeps : {",._", "_"}) {
    for (const bool as_unicode : {true, false}) {
      ways.add_each([&](std::string& out, char c) {
        if (is_alphanumeric(c) || keeps.find(c) != std::string_view::npos) {
          out += c;
        } else if (as_unicode) {
          put_unicode(out, c);
        } else {
          out += "\\x";
          put_hex(out, c);
        }
      });
    }
  }
  for (const std::string_view careful : kCareful) {
    ways.add_each([&](std::string& out, char c) {
      if (careful.find(c) != std::string_view::npos) return put_unicode(out, c);
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    });
  }
}

// What stands in a string of SQL's or a field of CSV: a quote twice.
void add_doubled(Ways& ways) {
  for (const std::string_view quotes : {"'", "\"", "'\""}) {
    ways.add_each([&](std::string& out, char c) {
      if (quotes.find(c) != std::string_view::npos) out += c;
      out += c;
    });
  }
}

void add_html(Ways& ways) {
  ways.add_each([](std::string& out, char c) { out += "&#" + std::to_string(static_cast<unsigned char>(c)) + ";"; });
  ways.add_each([](std::string& out, char c) { put_number(out, c); });
  struct Writer {
    std::string_view quote, apostrophe, plus = "+", slash = "/", equals = "=", backtick = "`";
  };
  // Go, .NET, Mustache, Handlebars, Underscore; and what escapes no more than it must.
  std::vector<Writer> writers = {{"&#34;", "&#39;", "&#43;"},
                                 {"&quot;", "&#x27;", "&#x2b;"},
                                 {"&quot;", "&#39;", "+", "&#x2f;", "&#x3d;", "&#x60;"},
                                 {"&quot;", "&#x27;", "+", "/", "&#x3d;", "&#x60;"},
                                 {"&quot;", "&#x27;", "+", "/", "=", "&#x60;"}};
  for (const std::string_view quote : {"&quot;", "&#34;", "\""}) {
    for (const std::string_view apostrophe : {"&#39;", "&#039;", "&#x27;", "&apos;", "'"}) writers.push_back({quote, apostrophe});
  }
  for (const Writer& writer : writers) {
    ways.add_each([&](std::string& out, char c) {
      if (put_entity(out, c)) return;
      switch (c) {
        case '"': out += writer.quote; break;
        case '\'': out += writer.apostrophe; break;
        case '+': out += writer.plus; break;
        case '/': out += writer.slash; break;
        case '=': out += writer.equals; break;
        case '`': out += writer.backtick; break;
        default: out += c;
      }
    });
  }
  // OWASP's encoders, Twig's of attributes: whatever is no letter, no digit and not among these.
  for (const std::string_view keeps : {",.-_", ",.-_ "}) {
    ways.add_each([&](std::string& out, char c) {
      if (put_entity(out, c)) return;
      if (c == '"') {
        out += "&quot;";
      } else if (is_alphanumeric(c) || keeps.find(c) != std::string_view::npos) {
        out += c;
      } else {
        put_number(out, c);
      }
    });
  }
}

}  // namespace

std::vector<Wiped> written(std::string_view secret) {
  Ways ways(secret.substr(0, kMostSought));
  ways.add(std::string(ways.secret()));
  add_base64(ways);
  add_numbers(ways);
  add_percent(ways);
  add_json(ways);
  add_doubled(ways);
  add_html(ways);
  return std::move(ways).all();
}

}  // namespace cay::vault
