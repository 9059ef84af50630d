// Whether first bytes are to be read for a name: once that is told, it stays so, and nothing that a parser of requests or of ClientHellos finds a name
// in is told to be something else.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// As CPython's server parts words, which is the most lenient that is known: it takes any word for a method.
bool is_one_to_the_lenient(std::string_view bytes) {
  constexpr std::string_view kBlank = " \t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0";
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return false;
  std::vector<std::string_view> words;
  for (std::string_view rest = bytes.substr(0, end); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find_first_of(kBlank));
    if (!word.empty()) words.push_back(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  const auto is_a_version = [](std::string_view word) { return word.size() > 5 && word.starts_with("HTTP/") && word.substr(5).find_first_not_of("0123456789.+_") == std::string_view::npos; };
  return (words.size() == 3 && is_a_version(words[2])) || (words.size() == 2 && words[0] == "GET");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::gate;
  using State = Shown::State;
  if (size == 0) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size - 1);
  // Empty lines go before (shown_later.cc).
  const std::string_view bytes = all.substr(std::min(all.find_first_not_of("\r\n"), all.size()));
  const auto told = told_apart(bytes);
  const auto early = told_apart(bytes.substr(0, data[size - 1] * bytes.size() / 256));
  if (early) CAY_ASSERT(early == told);
  CAY_ASSERT(told_apart(bytes, true) && (!told || told_apart(bytes, true) == told));
  // What may be TLS is judged as that, strictly. So it is however little is kept of what has gone on.
  if (is_one_to_the_lenient(bytes) || is_one_to_the_lenient(behind_controls(bytes))) {
    CAY_ASSERT(told == Proof::kHttp || told == Proof::kTls);
    std::string kept(bytes.substr(0, bytes.size() / 2));
    if (!told_apart(kept)) {
      keep_what_tells(kept);
      kept += bytes.substr(bytes.size() / 2);
      CAY_ASSERT(told_apart(kept) == told);
    }
  }
  if (is_a_request(bytes)) CAY_ASSERT(told == Proof::kHttp);
  if (read_request_head(bytes).state == State::kName) CAY_ASSERT(told == Proof::kHttp);
  const Shown hello = read_client_hello(bytes);
  if (hello.state == State::kName || (hello.state == State::kNone && hello.size > 0)) CAY_ASSERT(told == Proof::kTls);
  return 0;
}
