#include "vault/written.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "codec/base64.h"
#include "codec/json.h"
#include "vault/normaliser.h"

namespace cay::vault {
namespace {

// Every kind of byte that some writer escapes.
constexpr const char* kOdd = "s/k \"a\\b'<c>&d=e+f`g~*(h)";

bool has(std::string_view secret, std::string_view text) {
  const std::string plain = normalised(text);
  return std::ranges::any_of(written(secret),
                             [&](const Wiped& one) { return plain.find(normalised(one.view())) != std::string::npos; });
}

TEST(WrittenTest, AsTheUsualWritersDoIt) {
  for (const char* text : {
           "s/k \"a\\b'<c>&d=e+f`g~*(h)",                                       // as it is
           "732f6b202261", "732F6B202261",                                      // hexadecimal: below
           "s%2Fk%20%22a%5Cb%27%3Cc%3E%26d%3De%2Bf%60g~%2A%28h%29",             // RFC 3986
           "s%2fk%20%22a%5cb%27%3cc%3e%26d%3de%2bf%60g~%2a%28h%29",             // ... in small letters
           "s%2Fk+%22a%5Cb%27%3Cc%3E%26d%3De%2Bf%60g~%2A%28h%29",               // Python's quote_plus
           "s%2Fk+%22a%5Cb%27%3Cc%3E%26d%3De%2Bf%60g%7E*%28h%29",               // a form
           "s%2Fk%20%22a%5Cb'%3Cc%3E%26d%3De%2Bf%60g~*(h)",                     // encodeURIComponent
           "s/k%20%22a%5Cb%27%3Cc%3E%26d%3De%2Bf%60g~%2A%28h%29",               // Python's quote
           "s/k%20%22a%5Cb'%3Cc%3E&d=e+f%60g~*(h)",                             // encodeURI
           R"(s/k \"a\\b'<c>&d=e+f`g~*(h))",                                    // JSON
           R"(s\/k \"a\\b'<c>&d=e+f`g~*(h))",                                   // PHP's
           R"(s/k \"a\\b'\u003cc\u003e\u0026d=e+f`g~*(h))",                     // Go's
           R"(s/k \"a\\b\u0027\u003cc\u003e\u0026d\u003de+f`g~*(h))",           // Gson's
           R"(s/k \u0022a\\b\u0027\u003Cc\u003E\u0026d=e\u002Bf\u0060g~*(h))",  // .NET's
           "s/k &quot;a\\b&#x27;&lt;c&gt;&amp;d=e+f`g~*(h)",                    // Python's html.escape
           "s/k &#34;a\\b&#39;&lt;c&gt;&amp;d=e+f`g~*(h)",                      // Go's
           "s/k &quot;a\\b&#039;&lt;c&gt;&amp;d=e+f`g~*(h)",                    // PHP's
           "s/k &#34;a\\b&#39;&lt;c&gt;&amp;d=e&#43;f`g~*(h)",                  // Go's templates
           "s/k &quot;a\\b&#x27;&lt;c&gt;&amp;d=e&#x2B;f`g~*(h)",               // .NET's
           "s&#x2F;k &quot;a\\b&#39;&lt;c&gt;&amp;d&#x3D;e+f&#x60;g~*(h)",      // Mustache
           "s/k &quot;a\\b&#x27;&lt;c&gt;&amp;d&#x3D;e+f&#x60;g~*(h)",          // Handlebars
           "s/k &quot;a\\b&#x27;&lt;c&gt;&amp;d=e+f&#x60;g~*(h)",               // Underscore
           R"(s/k \u0022a\u005Cb\u0027\u003Cc\u003E\u0026d\u003De+f\u0060g~*(h))",  // Django's escapejs
           R"(s\u002Fk\u0020\u0022a\u005Cb\u0027\u003Cc\u003E\u0026d\u003De\u002Bf\u0060g\u007E\u002A\u0028h\u0029)",      // Twig's js
           R"(s\x2Fk\x20\x22a\x5Cb\x27\x3Cc\x3E\x26d\x3De\x2Bf\x60g\x7E\x2A\x28h\x29)",                                // OWASP's
           "s&#x2F;k&#x20;&quot;a&#x5C;b&#x27;&lt;c&gt;&amp;d&#x3D;e&#x2B;f&#x60;g&#x7E;&#x2A;&#x28;h&#x29;",      // Twig's html_attr
           "s&#x2f;k &quot;a&#x5c;b&#x27;&lt;c&gt;&amp;d&#x3d;e&#x2b;f&#x60;g&#x7e;&#x2a;&#x28;h&#x29;",           // OWASP's
           "s%2Fk%20%22a%5Cb%27%3Cc%3E&d=e+f%60g~%2A%28h%29",                   // Go's PathEscape
           "s/k%20%22a%5Cb%27%3Cc%3E&d=e+f%60g~%2A%28h%29",                     // Go's path of a URL
           "s/k%20%22a%5Cb'%3Cc%3E%26d=e%2Bf%60g~*(h)",                         // Angular's
           "s/k%20%22a%5Cb'%3Cc%3E%26d=e+f%60g~*(h)",                           // ... of before
           "s%2Fk+%22a%5Cb'%3Cc%3E%26d%3De%2Bf%60g~*(h)",                       // axios'
           R"(s/k \"a\\b\'<c>&d=e+f`g~*(h))",                                    // PHP's addslashes
           R"(s/k "a\\b\'<c>&d=e+f`g~*(h))",                                     // Python's repr, Node's inspect
           R"(s\/k "a\\b'\<c\>&d\=e\+f`g~\*\(h\))",                           // PHP's preg_quote
           R"(s\/k\ \"a\\b\'\<c\>\&d\=e\+f\`g\~\*\(h\))",                    // Perl's quotemeta
           "s/k \"a\\b''<c>&d=e+f`g~*(h)",                                     // SQL's
           "s/k \"\"a\\b'<c>&d=e+f`g~*(h)",                                    // CSV's
           "s%252Fk%2520%2522a%255Cb%2527%253Cc%253E%2526d%253De%252Bf%2560g~%252A%2528h%2529",                   // RFC 3986, twice
       }) {
    const bool hexadecimal = std::string_view(text).starts_with("732");
    EXPECT_EQ(has(kOdd, text), !hexadecimal) << text << (hexadecimal ? ": the control: a part is not it" : "");
  }
  EXPECT_TRUE(has("sk-[live]", "736b2d5b6c6976655d"));
  EXPECT_TRUE(has("sk-[live]", "736B2D5B6C6976655D"));
  EXPECT_TRUE(has("sk-[live]", "the end: 736B2D5B6C6976655D"));
}

TEST(WrittenTest, WithEveryByteEscaped) {
  for (const char* text :
       {"%73%6b%2d%6c%69%76%65%2a", "%2573%256B%252D%256C%2569%2576%2565%252A", "%73%6B%2D%6C%69%76%65%2A", R"(\u0073\u006b\u002d\u006c\u0069\u0076\u0065\u002a)",
        R"(\u0073\u006B\u002D\u006C\u0069\u0076\u0065\u002A)", "&#115;&#107;&#45;&#108;&#105;&#118;&#101;&#42;",
        "&#x73;&#x6b;&#x2d;&#x6c;&#x69;&#x76;&#x65;&#x2a;", "&#x73;&#x6B;&#x2D;&#x6C;&#x69;&#x76;&#x65;&#x2A;"}) {
    EXPECT_TRUE(has("sk-live*", text)) << text;
    EXPECT_FALSE(has("sk-live+", text)) << "the control";
  }
  const std::string wide("s\0k\0-\0l\0i\0v\0e\0*\0", 16);
  EXPECT_TRUE(has("sk-live*", wide)) << "little-endian";
  EXPECT_TRUE(has("sk-live*", std::string(1, '\0') + wide.substr(0, 15))) << "big-endian";
}

TEST(WrittenTest, InAnyCase) {
  for (const char* text : {"SK-LIVE*", "sK-lIVE*"}) {
    EXPECT_TRUE(has("sk-live*", text)) << text;
    EXPECT_FALSE(has("sk-live+", text)) << "the control";
  }
}

TEST(WrittenTest, AsNumbers) {
  for (const char* text :
       {"[115,107,45,108,105,118,101,42]", "[115, 107, 45, 108, 105, 118, 101, 42]", "115 107 45 108 105 118 101 42",
        R"({"type":"Buffer","data":[115,107,45,108,105,118,101,42]})", "73 6b 2d 6c 69 76 65 2a",
        "73:6B:2D:6C:69:76:65:2A", "73-6b-2d-6c-69-76-65-2a", "0x73, 0x6b, 0x2d, 0x6c, 0x69, 0x76, 0x65, 0x2a",
        R"(\x73\x6b\x2d\x6c\x69\x76\x65\x2a)", R"(\163\153\055\154\151\166\145\052)",
        R"(\u{73}\u{6b}\u{2d}\u{6c}\u{69}\u{76}\u{65}\u{2a})"}) {
    EXPECT_TRUE(has("sk-live*", text)) << text;
    EXPECT_FALSE(has("sk-live+", text)) << "the control";
  }
}

TEST(WrittenTest, InBase64OfABasicHeaderOnceMore) {
  const std::string secret = "sk->?>?~~live-0123";
  for (std::size_t before = 0; before < 6; ++before) {
    const std::string basic = codec::base64(std::string(before, 'u') + ":" + secret);
    for (const char* head : {"", "Basic ", "Authorization: Basic "}) {
      EXPECT_TRUE(has(secret, codec::base64(head + basic))) << before << head;
      EXPECT_FALSE(has(secret, codec::base64(codec::base64(head + basic)))) << "the control: thrice is not known";
    }
    std::string json, percent, dotnet;
    for (const char c : basic) {
      json += c == '/' ? "\\/" : std::string(1, c);
      percent += c == '/' ? "%2F" : c == '+' ? "%2B" : c == '=' ? "%3D" : std::string(1, c);
      dotnet += c == '+' ? "\\u002B" : std::string(1, c);
    }
    for (const std::string& text : {json, percent, dotnet}) EXPECT_TRUE(has(secret, text)) << text;
  }
}

TEST(WrittenTest, AsOurOwnWritersDoIt) {
  EXPECT_TRUE(has(kOdd, codec::write(codec::json::object{{"echo", std::string("you sent ") + kOdd}})));
  for (std::size_t before = 0; before < 6; ++before) {
    for (std::size_t after = 0; after < 6; ++after) {
      std::string text = codec::base64(std::string(before, 'u') + "sk->?>?~~live" + std::string(after, 'v'));
      EXPECT_TRUE(has("sk->?>?~~live", text)) << before << " " << after;
      std::ranges::replace(text, '+', '-');
      std::ranges::replace(text, '/', '_');
      EXPECT_TRUE(has("sk->?>?~~live", text)) << before << " " << after << ", the alphabet for URLs";
    }
  }
}

TEST(WrittenTest, NoMoreAndNoLongerThanIsSaid) {
  std::string odd;
  while (odd.size() < 3 * kMostSought) odd += kOdd;
  for (const std::string& secret : {std::string(kOdd), std::string(8, 'x'), odd}) {
    const auto ways = written(secret);
    EXPECT_LE(ways.size(), kMostWays);
    const std::size_t sought = std::min(secret.size(), kMostSought);
    std::size_t longest = 0;
    for (const Wiped& one : ways) longest = std::max(longest, one.view().size());
    EXPECT_LT(longest, sought * kMostRoom) << "which is what is held back";
    for (const Wiped& one : ways)
      EXPECT_EQ(std::ranges::count_if(ways, [&](const Wiped& other) { return other.view() == one.view(); }), 1);
  }
  EXPECT_LE(written("sk-live-0123456789abcdef").size(), 40U) << "a usual key needs few";
}

}  // namespace
}  // namespace cay::vault
