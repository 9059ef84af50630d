#include "http/upstream.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <algorithm>

#include "base/ascii.h"
#include "http/transport.h"

namespace cay::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kPiece = 64 * 1024;
constexpr int kMostFields =
    256;  // of an answer: some have a Set-Cookie or a Link for each of many things
constexpr std::size_t kMostUnparsed = 128 * 1024;  // a head or a chunk's line
constexpr int kMostInterim = 16;

Error bad_answer(const std::string& why) {
  return {Code::kUnavailable, "bad_answer", "the service's answer is not proper HTTP/1.1: " + why,
          0};
}
Error lost(const char* when) {
  return {Code::kUnavailable, "connection_lost",
          std::string("the service ended the connection ") + when, 0};
}

// As it is written. Nothing else of it is left: it may wait for long, and a secret may be in it as
// often as there is room.
Result<Bytes> written_head(UpstreamRequest request, bool keep) {
  bhttp::request<bhttp::empty_body> message;
  message.version(11);
  message.method_string(request.method);
  message.target(request.target);
  for (const auto& [name, value] : request.headers.items()) message.insert(name, value);
  if (request.websocket) {
    message.set(bhttp::field::connection, "Upgrade");
    message.set(bhttp::field::upgrade, "websocket");
  } else if (!keep) {
    message.set(bhttp::field::connection, "close");
  }
  if (request.chunked) {
    message.set(bhttp::field::transfer_encoding, "chunked");
  } else if (request.length) {
    message.set(bhttp::field::content_length, std::to_string(*request.length));
  }
  bhttp::request_serializer<bhttp::empty_body> writer(message);
  Bytes head;
  ErrorCode error;
  writer.split(true);
  do {
    writer.next(error, [&](ErrorCode&, const auto& buffers) {
      head += beast::buffers_to_string(buffers);
      writer.consume(beast::buffer_bytes(buffers));
    });
  } while (!error && !writer.is_header_done());
  if (error)
    return Error{Code::kInvalidArgument, "bad_request",
                 "the request cannot be passed on: " + error.message(), 0};
  return head;
}

class Resumed final : public ByteStream, public PipedStream {
 public:
  Resumed(ByteStream& inner, Bytes early)
      : inner_(inner), piped_(dynamic_cast<PipedStream*>(&inner)), early_(std::move(early)) {}
  Task<Bytes> read() override {
    if (!early_.empty()) co_return std::exchange(early_, {});
    auto got = co_await inner_.read();
    co_return got;
  }
  Task<void> write(Bytes bytes) override { return inner_.write(std::move(bytes)); }
  Task<void> shut_write() override { return inner_.shut_write(); }

  bool can_splice() const override {
    return early_.empty() && piped_ != nullptr && piped_->can_splice();
  }
  Task<KernelPipe> read_piped(std::size_t most) override { return piped_->read_piped(most); }
  Task<void> write_piped(KernelPipe pipe) override { return piped_->write_piped(std::move(pipe)); }
  bool is_quiet() override { return false; }
  bool has_gone() override { return piped_ != nullptr && piped_->has_gone(); }

 private:
  ByteStream& inner_;
  PipedStream* piped_;  // the same; null: it is none
  Bytes early_;
};

}  // namespace

struct Upstream::Wire {
  using Parser = bhttp::response_parser<bhttp::buffer_body>;

  void begin_answer() {
    parser = std::make_unique<Parser>();
    parser->header_limit(kMaxHead);
    parser->body_limit(boost::none);
    if (head_only) parser->skip(true);
  }

  std::unique_ptr<Parser> parser;
  Bytes in;            // read, and not parsed yet
  bool ended = false;  // the service sends no more
  bool heard = false;  // it sent something
  bool head_only = false, websocket = false, chunked_out = false;
  bool keep = false;                      // neither side has announced the connection's end
  std::optional<std::uint64_t> left_out;  // of a body with a length
  std::uint64_t left_in = 0;              // likewise of the answer's; kUntilEnd
  std::optional<Error> broken;            // the answer's body; come() reported it first
  enum class Framing { kNone, kLength, kChunked, kUntilEnd } framing = Framing::kNone;
};

Upstream::Upstream(ByteStream& stream)
    : stream_(stream),
      piped_(dynamic_cast<PipedStream*>(&stream)),
      wire_(std::make_unique<Wire>()) {}
Upstream::~Upstream() = default;

Task<void> Upstream::send_head(UpstreamRequest request, Bytes body, bool whole) {
  wire_->head_only = request.method == "HEAD";
  wire_->websocket = request.websocket;
  wire_->chunked_out = request.chunked;
  wire_->left_out = request.length;
  wire_->keep = request.keep && !request.has_body() && !request.websocket;
  CAY_CO_TRY(Bytes head, written_head(std::exchange(request, {}), wire_->keep));
  if (!body.empty()) {
    CAY_CO_TRY(const Bytes piece, framed(std::move(body)));
    head += piece;
  }
  if (whole) {
    CAY_CO_TRY(const Bytes end, framed(Bytes()));
    head += end;
  }
  auto sent = co_await stream_.write(std::move(head));
  co_return sent;
}

// As it goes out: none for the end of a body with a length.
Result<Bytes> Upstream::framed(Bytes piece) {
  if (wire_->chunked_out)
    return piece.empty() ? beast::buffers_to_string(bhttp::make_chunk_last())
                         : beast::buffers_to_string(bhttp::make_chunk(asio::buffer(piece)));
  if (!wire_->left_out) return Bytes();
  if (piece.size() > *wire_->left_out)
    return Error{Code::kInternal, "internal", "a body longer than its length", 0};
  *wire_->left_out -= piece.size();
  return piece;
}

Task<void> Upstream::send(Bytes piece) {
  CAY_CO_TRY(Bytes out, framed(std::move(piece)));
  if (out.empty()) co_return Result<void>();
  auto sent = co_await stream_.write(std::move(out));
  co_return sent;
}

bool Upstream::can_send_piped() const {
  return !wire_->chunked_out && wire_->left_out.value_or(0) > 0 && piped_ != nullptr &&
         piped_->can_splice();
}

Task<void> Upstream::send_piped(KernelPipe pipe) {
  if (pipe.size() > wire_->left_out.value_or(0))
    co_return Error{Code::kInternal, "internal", "a body longer than its length", 0};
  *wire_->left_out -= pipe.size();
  auto sent = co_await piped_->write_piped(std::move(pipe));
  co_return sent;
}

// More of what the service sends, behind what was not parsed yet.
Task<void> Upstream::feed() {
  if (wire_->in.size() >= kMostUnparsed) co_return bad_answer("a line of it has no end");
  CAY_CO_TRY(Bytes more, co_await stream_.read());
  if (!more.empty()) wire_->heard = true;
  if (more.empty()) {
    wire_->ended = true;
  } else if (wire_->in.empty()) {
    wire_->in = std::move(more);
  } else {
    wire_->in += more;
  }
  co_return Result<void>();
}

Task<UpstreamAnswer> Upstream::read_head() {
  Wire& wire = *wire_;
  for (int interim = 0; interim <= kMostInterim; ++interim) {
    wire.begin_answer();
    while (!wire.parser->is_header_done()) {
      ErrorCode error = bhttp::error::need_more;
      if (!wire.in.empty()) {
        const std::size_t used = wire.parser->put(asio::buffer(wire.in), error);
        wire.in.erase(0, used);
        if (error && error != bhttp::error::need_more) co_return bad_answer(error.message());
        if (wire.parser->is_header_done()) break;
      }
      if (wire.ended) co_return lost("before it answered");
      CAY_CO_CHECK(co_await feed());
    }
    const auto& message = wire.parser->get();
    UpstreamAnswer answer;
    answer.status = static_cast<int>(message.result_int());
    if (answer.status >= 100 && answer.status < 200 && answer.status != 101) continue;
    if (answer.status == 101 ? !wire.websocket : answer.status < 200) {
      co_return bad_answer("status " + std::to_string(answer.status) + " was not requested");
    }
    int codings = 0, lengths = 0, fields = 0;
    for (const auto& field : message) {
      if (++fields > kMostFields)
        co_return bad_answer("more than " + std::to_string(kMostFields) + " headers");
      const std::string_view name(field.name_string().data(), field.name_string().size());
      const std::string_view value(field.value().data(), field.value().size());
      if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
        co_return bad_answer("a header has a line break in it");
      const bool coding = equals_ignoring_case(name, "Transfer-Encoding");
      if (coding && !equals_ignoring_case(value, "chunked"))
        co_return bad_answer("a transfer coding other than chunked");
      codings += coding ? 1 : 0;
      lengths += equals_ignoring_case(name, "Content-Length") ? 1 : 0;
      answer.headers.add(std::string(name), std::string(value));
    }
    if (codings + lengths > 1) co_return bad_answer("it has two lengths");
    if (const auto length = wire.parser->content_length(); length && lengths > 0)
      answer.length = *length;
    const bool none =
        wire.head_only || answer.status == 101 || answer.status == 204 || answer.status == 304;
    wire.framing = none                        ? Wire::Framing::kNone
                   : codings > 0               ? Wire::Framing::kChunked
                   : answer.length.has_value() ? Wire::Framing::kLength
                                               : Wire::Framing::kUntilEnd;
    wire.left_in = answer.length.value_or(0);
    if (!message.keep_alive()) wire.keep = false;
    wire.parser->get().clear();  // they are the answer's now
    wire.parser->eager(true);    // many small chunks make one piece
    co_return answer;
  }
  co_return bad_answer("it has no end of interim answers");
}

Task<Bytes> Upstream::next() {
  if (wire_->framing == Wire::Framing::kNone) co_return Bytes();
  if (wire_->framing == Wire::Framing::kChunked) {
    auto got = co_await next_chunked();
    co_return got;
  }
  auto got = co_await next_plain();
  co_return got;
}

Task<Bytes> Upstream::next_plain() {
  Wire& wire = *wire_;
  const bool counted = wire.framing == Wire::Framing::kLength;
  if (counted && wire.left_in == 0) co_return Bytes();
  if (wire.in.empty() && !wire.ended) {
    CAY_CO_CHECK(co_await feed());
  }
  if (wire.in.empty()) {
    if (counted) co_return lost("in the middle of its answer");
    co_return Bytes();
  }
  co_return piece_of_plain();
}

Bytes Upstream::piece_of_plain() {
  Wire& wire = *wire_;
  if (wire.framing != Wire::Framing::kLength) return std::exchange(wire.in, {});
  if (wire.in.size() > wire.left_in) {  // what follows belongs to nobody
    wire.in.resize(static_cast<std::size_t>(wire.left_in));
    wire.keep = false;
  }
  wire.left_in -= wire.in.size();
  return std::exchange(wire.in, {});
}

// Parses the bytes that have come. nullopt: it needs more.
Result<std::optional<Bytes>> Upstream::parse_chunked() {
  Wire& wire = *wire_;
  while (!wire.in.empty() && !wire.parser->is_done()) {
    Bytes piece(kPiece, '\0');
    auto& body = wire.parser->get().body();
    body.data = piece.data();
    body.size = piece.size();
    body.more = true;
    ErrorCode error;
    const std::size_t used = wire.parser->put(asio::buffer(wire.in), error);
    wire.in.erase(0, used);
    if (error && error != bhttp::error::need_buffer && error != bhttp::error::need_more) {
      wire.broken = bad_answer(error.message());
      return *wire.broken;
    }
    const std::size_t got = piece.size() - body.size;
    if (got > 0) {
      piece.resize(got);
      return std::optional<Bytes>(std::move(piece));
    }
    if (used == 0 || error == bhttp::error::need_more) break;
  }
  if (wire.parser->is_done()) return std::optional<Bytes>(Bytes());
  return std::optional<Bytes>();
}

Task<Bytes> Upstream::next_chunked() {
  for (;;) {
    if (wire_->broken) co_return *wire_->broken;
    CAY_CO_TRY(auto piece, parse_chunked());
    if (piece) co_return *std::move(piece);
    if (wire_->ended) co_return lost("in the middle of its answer");
    CAY_CO_CHECK(co_await feed());
  }
}

std::optional<Bytes> Upstream::come() {
  Wire& wire = *wire_;
  if (wire.framing == Wire::Framing::kChunked) {
    if (wire.broken) return std::nullopt;
    auto piece = parse_chunked();
    return piece ? *std::move(piece) : std::nullopt;
  }
  const bool over = wire.framing == Wire::Framing::kNone ||
                    (wire.framing == Wire::Framing::kLength && wire.left_in == 0);
  if (!over && wire.in.empty()) return std::nullopt;
  return over ? Bytes() : piece_of_plain();
}

bool Upstream::can_splice() const {
  return wire_->framing == Wire::Framing::kLength && wire_->left_in > 0 && wire_->in.empty() &&
         !wire_->ended && piped_ != nullptr && piped_->can_splice();
}

Task<KernelPipe> Upstream::next_piped() {
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(wire_->left_in, KernelPipe::kMost));
  CAY_CO_TRY(KernelPipe pipe, co_await piped_->read_piped(most));
  if (pipe.empty()) {
    wire_->ended = true;
    co_return lost("in the middle of its answer");
  }
  wire_->left_in -= pipe.size();
  co_return pipe;
}

bool Upstream::is_unanswered() const { return !wire_->heard; }

bool Upstream::can_ask_again() const {
  const bool over =
      (wire_->framing == Wire::Framing::kLength && wire_->left_in == 0) ||
      (wire_->framing == Wire::Framing::kChunked && wire_->parser->is_done() && !wire_->broken);
  return over && wire_->keep && !wire_->ended &&
         wire_->in.empty();  // what follows an answer unasked is a bad sign
}

std::unique_ptr<ByteStream> Upstream::take_stream() {
  return std::make_unique<Resumed>(stream_, std::exchange(wire_->in, {}));
}

}  // namespace cay::http
