// Whether first bytes are to be read for a name: once that is told, it stays so, and nothing that a parser of requests or of ClientHellos finds a name
// in is told to be something else.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "gate/told_apart.h"

namespace {

namespace bhttp = boost::beast::http;

bool is_a_request(std::string_view bytes) {
  bhttp::request_parser<bhttp::empty_body> parser;
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  return parser.is_header_done();
}

// Netty's server passes over these, ends of lines among them.
std::string_view behind_controls(std::string_view bytes) {
  const auto is_one = [](char c) { return static_cast<unsigned char>(c) <= ' ' || (static_cast<unsigned char>(c) >= 0x7f && static_cast<unsigned char>(c) <= 0xa0); };
  while (!bytes.empty() && is_one(bytes.front())) bytes.remove_prefix(1);
  return bytes;
}

constexpr std::string_view kAscii = " \t\n\v\f\r";

std::string_view stripped(std::string_view text, std::string_view of = kAscii) {
  text.remove_prefix(std::min(text.find_first_not_of(of), text.size()));
  return text.substr(0, text.find_last_not_of(of) + 1);
}
std::string_view up_to(std::string_view& rest, std::string_view any_of) {
  const std::string_view out = rest.substr(0, rest.find_first_of(any_of));
  rest.remove_prefix(std::min(out.size() + 1, rest.size()));
  return out;
}
bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }

// As CPython's server parts words: it takes any word for a method.
bool is_one_to_cpython(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::string_view word = up_to(line, " \t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0");
    if (!word.empty()) words.push_back(word);
  }
  const auto is_a_version = [](std::string_view word) { return word.size() > 5 && word.starts_with("HTTP/") && word.substr(5).find_first_not_of("0123456789.+_") == std::string_view::npos; };
  return (words.size() == 3 && is_a_version(words[2])) || (words.size() == 2 && words[0] == "GET");
}

// cheroot parts at two spaces, and what int() makes of the version's parts is enough.
bool is_one_to_cheroot(std::string_view line) {
  line = stripped(line);
  const auto method = up_to(line, " "), target = up_to(line, " ");
  const bool has_small = std::ranges::any_of(method, [](char c) { return c >= 'a' && c <= 'z'; });
  if (has_small || !target.starts_with('/') || !line.starts_with("HTTP/")) return false;
  line.remove_prefix(5);
  const auto is_int = [](std::string_view text) {
    text = stripped(text);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return is_number(text);
  };
  if (line.find('.') == std::string_view::npos) return false;
  const auto major = up_to(line, ".");
  return is_int(major) && is_int(line);
}

// Netty passes over controls, parts words at fewer blanks, trims a version of controls, and takes any name for HTTP's.
bool is_one_to_netty(std::string_view line) {
  constexpr std::string_view kBlank = " \t\v\f\r";
  for (int word = 0; word < 2; ++word) {
    line = line.substr(std::min(line.find_first_not_of(kBlank), line.size()));
    up_to(line, kBlank);
  }
  while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.remove_suffix(1);
  while (!line.empty() && static_cast<unsigned char>(line.front()) <= ' ') line.remove_prefix(1);
  const std::size_t slash = line.rfind('/');
  if (line.find_first_of(kBlank) != std::string_view::npos || slash == std::string_view::npos || slash == 0) return false;
  line.remove_prefix(slash + 1);
  const auto major = up_to(line, ".");
  return is_number(major) && is_number(line);
}

// Any word for a method: to the most lenient that are known.
bool is_one_to_the_lenient(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view line = bytes.substr(0, end), rest = behind_controls(bytes), behind = rest.substr(0, rest.find('\n'));
  return is_one_to_cpython(line) || is_one_to_cheroot(line) || (behind.size() < rest.size() && (is_one_to_cpython(behind) || is_one_to_netty(behind)));
}

// As it comes, in as many pieces as there are cuts, and one more.
std::optional<cay::gate::Proof> told_in_pieces(std::string_view bytes, const std::uint8_t* cuts, std::size_t count) {
  std::string kept;
  cay::gate::Looked looked;
  for (std::size_t i = 0; i <= count; ++i) {
    const std::size_t size = i < count ? cuts[i] * bytes.size() / 256 : bytes.size();
    kept += bytes.substr(0, size);
    bytes.remove_prefix(size);
    const auto told = cay::gate::told_apart(kept, false, &looked);
    CAY_ASSERT(told == cay::gate::told_apart(kept));
    if (told) return told;
    cay::gate::keep_what_tells(kept, &looked);
    CAY_ASSERT(cay::gate::is_no_request_yet(kept, &looked) == cay::gate::is_no_request_yet(kept));
  }
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::gate;
  using State = Shown::State;
  constexpr std::size_t kCuts = 3;
  if (size < kCuts) return 0;
  const std::uint8_t* const cuts = data + (size - kCuts);
  const std::string_view all(reinterpret_cast<const char*>(data), size - kCuts);
  // Empty lines go before (shown_later.cc).
  const std::string_view bytes = all.substr(std::min(all.find_first_not_of("\r\n"), all.size()));
  const auto told = told_apart(bytes);
  const auto early = told_apart(bytes.substr(0, cuts[0] * bytes.size() / 256));
  if (early) CAY_ASSERT(early == told);
  CAY_ASSERT(told_apart(bytes, true) && (!told || told_apart(bytes, true) == told));
  // What may be TLS is judged as that, strictly.
  const bool is_to_the_lenient = is_one_to_the_lenient(bytes);
  if (is_to_the_lenient) CAY_ASSERT(told == Proof::kHttp || told == Proof::kTls);
  // So it is however it is cut, and however little is kept of what has gone on. Of a longer line, or one behind more controls, nobody knows then what words
  // it had, and it may be taken for a request; so may one that has what stands for words that were left out.
  constexpr std::size_t kKeptBefore = 5, kKept = 168;
  const bool is_kept_whole = bytes.size() <= kKept && bytes.size() - behind_controls(bytes).size() <= kKeptBefore;
  const bool is_cut = bytes.find("\t\xff\t") != std::string_view::npos;
  if (is_kept_whole || is_to_the_lenient || (told != Proof::kNone && !is_cut)) CAY_ASSERT(told_in_pieces(bytes, cuts, kCuts) == told);
  if (is_a_request(bytes)) CAY_ASSERT(told == Proof::kHttp);
  if (read_request_head(bytes).state == State::kName) CAY_ASSERT(told == Proof::kHttp);
  const Shown hello = read_client_hello(bytes);
  if (hello.state == State::kName || (hello.state == State::kNone && hello.size > 0)) CAY_ASSERT(told == Proof::kTls);
  return 0;
}
