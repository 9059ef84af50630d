// The answer of a service inside a sandbox, head and body: however it is cut, the same answer or the same kind of
// refusal; a body is as long as it was said to be, or breaks off.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "http/upstream.h"
#include "tests/fuzz/pieces.h"

namespace {

using namespace cay::http;

class Service final : public cay::ByteStream {
 public:
  explicit Service(cay::fuzz::Pieces bytes) : bytes_(bytes) {}
  cay::Task<cay::Bytes> read() override { co_return cay::Bytes(bytes_.next()); }
  cay::Task<void> write(cay::Bytes) override { co_return cay::Result<void>(); }
  cay::Task<void> shut_write() override { co_return cay::Result<void>(); }

 private:
  cay::fuzz::Pieces bytes_;
};

struct Seen {
  bool has_head = false, whole = false;
  UpstreamAnswer answer;
  std::string body;
};

boost::asio::awaitable<void> ask(cay::fuzz::Pieces bytes, unsigned form, Seen& seen) {
  Service service(bytes);
  Upstream upstream(service);
  UpstreamRequest request;
  request.method = (form & 1) != 0 ? "HEAD" : "GET";
  request.target = "/";
  request.websocket = (form & 2) != 0;
  request.keep = true;
  auto asked = co_await upstream.send_head(std::move(request));
  CAY_ASSERT(asked);
  auto head = co_await upstream.read_head();
  if (!head) co_return;
  seen.has_head = true;
  seen.answer = *std::move(head);
  if (seen.answer.status == 101) {
    auto stream = upstream.take_stream();
    for (;;) {
      auto got = co_await stream->read();
      if (!got || got->empty()) break;
      seen.body += *got;
    }
    seen.whole = true;
    co_return;
  }
  for (bool at_once = false;; at_once = !at_once) {
    if (at_once) {
      if (auto come = upstream.come(); come && !come->empty()) seen.body += *come;
    }
    auto got = co_await upstream.next();
    if (!got) co_return;
    seen.body += *got;
    if (got->empty()) break;
  }
  seen.whole = true;
  CAY_ASSERT(!upstream.can_splice());
  if (upstream.can_ask_again()) CAY_ASSERT(!upstream.is_unanswered());
  co_return;
}

Seen seen_of(cay::fuzz::Pieces bytes, unsigned form) {
  static boost::asio::io_context loop(1);
  Seen seen;
  loop.restart();
  boost::asio::co_spawn(loop, ask(bytes, form, seen),
                        [](const std::exception_ptr& failure) { CAY_ASSERT(failure == nullptr); });
  loop.run();
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const unsigned form = data[0] & 3;
  const Seen all = seen_of(cay::fuzz::Pieces(bytes), form);
  if (all.has_head) {
    CAY_ASSERT(all.answer.status >= 200 || all.answer.status == 101);
    CAY_ASSERT(all.answer.status != 101 || (form & 2) != 0);
    for (const auto& [name, value] : all.answer.headers.items()) {
      CAY_ASSERT(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    }
    const bool bare =
        (form & 1) != 0 || all.answer.status == 204 || all.answer.status == 304 || all.answer.status == 101;
    if (all.whole && all.answer.length && !bare) CAY_ASSERT(all.body.size() == *all.answer.length);
  }
  const Seen cut = seen_of(cay::fuzz::Pieces(bytes, data[0]), form);
  CAY_ASSERT(cut.has_head == all.has_head && cut.whole == all.whole);
  if (!all.has_head) return 0;
  CAY_ASSERT(cut.answer.status == all.answer.status && cut.answer.length == all.answer.length);
  CAY_ASSERT(cut.answer.headers.items() == all.answer.headers.items());
  if (all.whole) CAY_ASSERT(cut.body == all.body);
  return 0;
}
