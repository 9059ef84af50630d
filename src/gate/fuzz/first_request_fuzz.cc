// The Host of a plain request: whom the gate takes it to mean is whom another parser takes it to
// mean, or it is refused.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/assert.h"
#include "gate/first_bytes.h"

namespace {

namespace bhttp = boost::beast::http;

// Nothing: that parser does not take it for a request at all.
void expect_same_host(std::string_view bytes, const std::string& host) {
  bhttp::request_parser<bhttp::empty_body> parser;
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (!parser.is_header_done()) return;
  const auto& request = parser.get();
  CAY_ASSERT(request.count(bhttp::field::host) == 1);
  std::string seen(request[bhttp::field::host]);
  seen.resize(std::min(seen.find(':'), seen.size()));
  std::transform(seen.begin(), seen.end(), seen.begin(), cay::lower);
  if (seen.ends_with('.')) seen.pop_back();
  CAY_ASSERT(seen == host);
  CAY_ASSERT(request.target().starts_with('/') || request.target().starts_with('*'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::gate;
  using State = Shown::State;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Shown all = read_first_bytes(Proof::kHttp, bytes);
  CAY_ASSERT((all.state == State::kName) == !all.host.empty() && all.host.size() <= 253);
  if (all.state == State::kName) expect_same_host(bytes, all.host);
  CAY_ASSERT(read_first_bytes(Proof::kNone, bytes).state == State::kNone);
  if (size == 0) return 0;
  const std::size_t early = data[size - 1] * size / 256;
  const Shown part = read_first_bytes(Proof::kHttp, bytes.substr(0, early));
  if (part.state == State::kMore) {
    const Shown again = read_first_bytes(Proof::kHttp, bytes, early);
    CAY_ASSERT(again.state == all.state && again.host == all.host && again.size == all.size);
  }
  if (part.state == State::kName || part.state == State::kNone)
    CAY_ASSERT(all.state == part.state && all.host == part.host);
  if (part.state == State::kOther) CAY_ASSERT(all.state != State::kName);
  return 0;
}
