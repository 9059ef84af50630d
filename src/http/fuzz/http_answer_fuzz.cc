// The response of a service inside a sandbox, head and body. However it is cut, it gives the same
// response or the same kind of refusal. A body has its declared length or breaks off. The request
// before it, with a body that a client made, goes out as one request with exactly that body.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
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
  cay::Task<void> write(cay::Bytes bytes) override {
    got += bytes;
    co_return cay::Result<void>();
  }
  cay::Task<void> shut_write() override {
    shut = true;
    co_return cay::Result<void>();
  }

  std::string got;
  bool shut = false;

 private:
  cay::fuzz::Pieces bytes_;
};

struct Seen {
  bool has_head = false, whole = false;
  UpstreamAnswer answer;
  std::string body;
};

// The request, and the part of its body that goes with its head.
struct Form {
  enum class Body {
    kNone,
    kClose,
    kCounted,
    kCountedLater,
    kTooLong,
    kChunked,
    kChunkedLater,
    kUpgrade
  };
  bool head = false;
  Body body = Body::kNone;
  std::string_view said;

  bool chunked() const { return body == Body::kChunked || body == Body::kChunkedLater; }
  bool counted() const {
    return body == Body::kCounted || body == Body::kCountedLater || body == Body::kTooLong;
  }
  bool later() const {
    return body == Body::kCountedLater || body == Body::kChunkedLater || body == Body::kTooLong;
  }
};

void expect_sent(const Form& form, const std::string& sent) {
  namespace bhttp = boost::beast::http;
  bhttp::request_parser<bhttp::string_body> parser;
  parser.eager(true);
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(sent), error);
  CAY_ASSERT(!error && used == sent.size());
  CAY_ASSERT(parser.is_done() == (form.body != Form::Body::kTooLong || form.said.empty()));
  const bool has_body = form.chunked() || form.counted();
  const std::string& body = parser.get().body();
  CAY_ASSERT(form.body == Form::Body::kTooLong
                 ? body.empty()
                 : body == (has_body ? form.said : std::string_view()));
}

boost::asio::awaitable<void> send(Upstream& upstream, Service& service, Form form) {
  UpstreamRequest request;
  request.method = form.head ? "HEAD" : "GET";
  request.target = "/";
  request.websocket = form.body == Form::Body::kUpgrade;
  request.keep = form.body != Form::Body::kClose;
  request.chunked = form.chunked();
  if (form.counted()) request.length = form.said.size();
  const bool at_once = form.body == Form::Body::kCounted || form.body == Form::Body::kChunked;
  std::string with_head(at_once ? form.said : std::string_view());
  auto asked = co_await upstream.send_head(std::move(request), std::move(with_head), at_once);
  CAY_ASSERT(asked && !upstream.can_send_piped());
  if (form.later()) {
    const std::size_t half = form.said.size() / 2;
    std::string pieces[] = {std::string(form.said.substr(0, half)),
                            std::string(form.said.substr(half)), std::string()};
    if (form.body == Form::Body::kTooLong) {
      std::string more = std::string(form.said) + "x";
      auto refused = co_await upstream.send(std::move(more));
      CAY_ASSERT(!refused);
    } else {
      for (std::string& piece : pieces) {
        if (piece.empty() && &piece != &pieces[2]) continue;  // that would be its end
        auto went = co_await upstream.send(std::move(piece));
        CAY_ASSERT(went);
      }
    }
  }
  expect_sent(form, service.got);
}

boost::asio::awaitable<void> ask(cay::fuzz::Pieces bytes, Form form, Seen& seen) {
  Service service(bytes);
  Upstream upstream(service);
  co_await send(upstream, service, form);
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
    service.got.clear();
    auto said = co_await stream->write(std::string(form.said));
    auto ended = co_await stream->shut_write();
    CAY_ASSERT(said && ended && service.got == form.said && service.shut);
    auto* piped = dynamic_cast<cay::PipedStream*>(stream.get());
    CAY_ASSERT(piped != nullptr && !piped->can_splice() && !piped->is_quiet() &&
               !piped->has_gone());
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
  if (upstream.can_ask_again())
    CAY_ASSERT(!upstream.is_unanswered() &&
               (form.body == Form::Body::kNone || (form.counted() && form.said.empty())));
  co_return;
}

Seen seen_of(cay::fuzz::Pieces bytes, const Form& form) {
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
  // The first byte chooses the method, an upgrade and the cuts of the response. The last byte,
  // which is also the response's, chooses how much of the request's body is sent.
  constexpr std::size_t kMostSaid = 40;
  constexpr unsigned kKinds = 7;
  Form form{.head = (data[0] & 1) != 0, .said = bytes.substr(0, kMostSaid)};
  form.body =
      (data[0] & 2) != 0 ? Form::Body::kUpgrade : static_cast<Form::Body>(data[size - 1] % kKinds);
  const Seen all = seen_of(cay::fuzz::Pieces(bytes), form);
  if (all.has_head) {
    CAY_ASSERT(all.answer.status >= 200 || all.answer.status == 101);
    CAY_ASSERT(all.answer.status != 101 || form.body == Form::Body::kUpgrade);
    for (const auto& [name, value] : all.answer.headers.items()) {
      CAY_ASSERT(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    }
    const bool bare = form.head || all.answer.status == 204 || all.answer.status == 304 ||
                      all.answer.status == 101;
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
