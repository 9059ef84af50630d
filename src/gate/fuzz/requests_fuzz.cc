// Requests over one connection give the same result however their bytes are cut. The output equals
// the input but for the last head's connection fields. Another parser finds no request in it whose
// host was not judged, and none behind a body.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/assert.h"
#include "gate/requests.h"

namespace {

namespace bhttp = boost::beast::http;
using cay::gate::Requests;

struct Told {
  std::vector<std::string> hosts;
  std::string passed;
  bool over = false, refused = false, names_nobody = false;
  bool operator==(const Told&) const = default;
};

std::string_view line_of(std::string_view& text) {
  const std::size_t end = text.find("\r\n") + 2;
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(end);
  return out;
}

// Removes the output of the head that `rest` begins with. It must be the whole head, or the head
// with its connection fields replaced.
void expect_head(std::string_view went, std::string_view& rest) {
  if (rest.starts_with(went)) return rest.remove_prefix(went.size());
  for (std::string_view line = line_of(rest); line != "\r\n"; line = line_of(rest)) {
    std::string name(line.substr(0, line.find(':')));
    std::transform(name.begin(), name.end(), name.begin(), cay::lower);
    constexpr std::string_view kOfConnection[] = {"connection", "keep-alive", "proxy-connection",
                                                  "upgrade", "http2-settings"};
    if (std::ranges::find(kOfConnection, name) == std::end(kOfConnection))
      CAY_ASSERT(line_of(went) == line);
  }
  CAY_ASSERT(went == "Connection: close\r\n\r\n" || went == "\r\n");
}

Told told(std::string_view bytes, std::size_t step) {
  std::string_view rest = bytes;
  Told out;
  Requests requests;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    requests.add(bytes.substr(at, step));
    for (;;) {
      const auto part = requests.next();
      if (part.is == Requests::Is::kMore) break;
      if (part.is == Requests::Is::kOver) {
        out.over = true;
        break;
      }
      CAY_ASSERT(!out.over);
      out.passed += part.bytes;
      out.names_nobody = part.names_nobody;
      if (part.is == Requests::Is::kRequest) {
        out.hosts.push_back(part.host);
        expect_head(part.bytes, rest);
      }
      if (part.is == Requests::Is::kRefused) {
        out.refused = true;
        CAY_ASSERT(requests.next().is == Requests::Is::kRefused);
        return out;
      }
      CAY_ASSERT(!part.bytes.empty());
      if (part.is == Requests::Is::kRequest) continue;
      CAY_ASSERT(rest.starts_with(part.bytes));
      rest.remove_prefix(part.bytes.size());
    }
  }
  return out;
}

// As far as that parser goes: what it does not take for a request its server does not either.
void expect_no_other(std::string_view bytes, const std::vector<std::string>& hosts) {
  for (std::size_t number = 0; !bytes.empty(); ++number) {
    bhttp::request_parser<bhttp::string_body> parser;
    parser.eager(true);
    boost::beast::error_code error;
    while (!bytes.empty() && !parser.is_done() && !error) {
      const std::size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
      bytes.remove_prefix(taken);
      if (taken == 0) break;
    }
    if (!parser.is_header_done()) return;
    CAY_ASSERT(number < hosts.size());
    std::string seen(parser.get()[bhttp::field::host]);
    seen.resize(std::min(seen.find(':'), seen.size()));
    std::transform(seen.begin(), seen.end(), seen.begin(), cay::lower);
    if (seen.ends_with('.')) seen.pop_back();
    CAY_ASSERT(seen == hosts[number]);
    const bool has_body = parser.chunked() || parser.content_length().value_or(0) > 0;
    if (has_body) CAY_ASSERT(!parser.keep_alive());
    if (error || !parser.is_done()) return;
    if (has_body) CAY_ASSERT(bytes.empty());
  }
}

}  // namespace

// The first byte: how the bytes are cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Told whole = told(bytes, bytes.size());
  CAY_ASSERT(whole == told(bytes, std::size_t{1} + data[0] % 16));
  expect_no_other(whole.passed, whole.hosts);
  return 0;
}
