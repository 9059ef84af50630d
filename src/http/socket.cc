#include "http/socket.h"

#include <boost/beast/websocket/rfc6455.hpp>
#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "base/assert.h"

namespace cay::http {
namespace {

namespace websocket = beast::websocket;
using namespace std::chrono_literals;

constexpr auto kHandshakeLimit = 30s;
constexpr Millis kCloseLimit = 5s;
constexpr Millis kPassOverLimit = 30s;
constexpr std::size_t kFirstStep = 1536;  // Beast gives no more together with a frame's head
constexpr std::size_t kReadStep = 64 * 1024;
constexpr int kNoCode = 1005;
constexpr int kAbnormal = 1006;

Task<void> close_task(BeastSocket& stream, websocket::close_reason reason) {
  ErrorCode error;
  co_await stream.async_close(reason, to(error));
  co_return Result<void>();
}

constexpr char kBinaryFrame = '\x82', kCloseFrame = '\x88';

// Returns the head of a whole message in one frame, as a server sends it: without a mask (RFC 6455,
// section 5.2). Beast writes heads only together with payloads in memory.
std::string head_of(char kind, std::uint64_t size) {
  constexpr std::uint64_t kShort = 125, kMedium = 0xffff;
  std::string out(1, kind);
  const int bytes = size <= kShort ? 0 : size <= kMedium ? 2 : 8;
  out.push_back(static_cast<char>(bytes == 0 ? size : bytes == 2 ? 126 : 127));
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>((size >> shift) & 0xff));
  return out;
}

// RFC 6455, section 5.5.1.
std::string close_frame(int code, std::string_view reason) {
  std::string out = head_of(kCloseFrame, 2 + reason.size());
  out.push_back(static_cast<char>(code >> 8));
  out.push_back(static_cast<char>(code & 0xff));
  return out.append(reason);
}

}  // namespace

void prepare(BeastSocket& stream) {
  beast::get_lowest_layer(stream).expires_never();  // the WebSocket has time-outs of its own
  stream.set_option(websocket::stream_base::timeout{kHandshakeLimit, SocketCore::kIdle, true});
  stream.read_message_max(0);
  stream.auto_fragment(false);
}

SocketCore::SocketCore(BeastSocket stream, Side side, std::size_t max_message, Millis idle)
    : stream_(std::move(stream)),
      side_(side),
      max_message_(max_message),
      idle_(idle),
      writing_(stream_.get_executor()),
      changed_(stream_.get_executor()) {}

// Beast sets its timer anew at each read; one that fires meanwhile does nothing.
void SocketCore::judge_silence(bool reading) {
  const auto idle =
      reading ? std::chrono::steady_clock::duration(idle_) : websocket::stream_base::none();
  stream_.set_option(websocket::stream_base::timeout{kHandshakeLimit, idle, true});
}

asio::awaitable<WsMessage> SocketCore::read() {
  WsMessage message;
  bool more = true;
  while (more) {
    more = co_await read_more(message.data);
    if (!more) break;
    const bool whole = stream_.is_message_done();
    if (too_long_ || (parting_ && !heard_)) {  // nobody is given these
      message.data.clear();
      too_long_ = too_long_ && !whole;
      continue;
    }
    too_long_ = message.data.size() > max_message_;
    if (!whole && !too_long_) continue;
    heard_ = true;
    if (message.data.capacity() > 2 * message.data.size()) message.data.shrink_to_fit();
    message.kind = stream_.got_text() ? WsMessage::Kind::kText : WsMessage::Kind::kBinary;
    if (too_long_) {
      message.kind = WsMessage::Kind::kTooLong;
      message.data = "the message is longer than " + std::to_string(max_message_) + " bytes";
      too_long_ = !whole;
    }
    co_return message;
  }
  message.kind = WsMessage::Kind::kClosed;
  message.close_code = close_code_;
  message.data = close_reason_;
  co_return message;
}

asio::awaitable<bool> SocketCore::read_more(std::string& data) {
  if (closed_) co_return false;
  const std::size_t had = data.size();
  // The hint is what is left of the frame, by its head. A head alone gets no more memory than what
  // has come already.
  const std::size_t most = std::max(kReadStep, had);
  data.resize(had + std::min(stream_.read_size_hint(kFirstStep), most));
  ErrorCode error;
  judge_silence(true);
  const auto room = asio::buffer(data.data() + had, data.size() - had);
  const std::size_t got = co_await stream_.async_read_some(room, to(error));
  data.resize(had + got);
  if (error || closed_) {
    note_end(error);
    co_return false;
  }
  judge_silence(false);
  co_return true;
}

Task<void> SocketCore::pass_over() {
  std::string unwanted(kReadStep, '\0');
  while (!closed_ && !stream_.is_message_done()) {
    ErrorCode error;
    const std::size_t got = co_await stream_.async_read_some(asio::buffer(unwanted), to(error));
    static_cast<void>(got);
    if (error) note_end(error);
  }
  too_long_ = false;
  co_return Result<void>();
}

void SocketCore::note_end(const ErrorCode& error) {
  const bool closed_by_us = (std::exchange(closed_, true) && close_code_ != kAbnormal) || parting_;
  changed_.notify();
  if (closed_by_us) return;  // the code that we sent stands
  if (error == websocket::error::closed) {
    const auto& reason = stream_.reason();
    close_code_ =
        reason.code == websocket::close_code::none ? kNoCode : static_cast<int>(reason.code);
    close_reason_.assign(reason.reason.data(), reason.reason.size());
  } else {
    close_code_ = kAbnormal;
  }
}

asio::awaitable<std::optional<std::size_t>> SocketCore::read_some(std::span<char> into) {
  while (!closed_) {
    ErrorCode error;
    judge_silence(true);
    const std::size_t got =
        co_await stream_.async_read_some(asio::buffer(into.data(), into.size()), to(error));
    if (error || closed_) {
      note_end(error);
      break;
    }
    judge_silence(false);
    if (got == 0 || (parting_ && !heard_)) continue;  // a message may be empty
    heard_ = true;
    co_return got;
  }
  co_return std::nullopt;
}

Task<void> SocketCore::send(std::string data, bool text) {
  auto turn = co_await writing_.lock();
  if (closed_) co_return Error{Code::kCancelled, "socket_closed", "the WebSocket is closed", 0};
  stream_.text(text);
  ErrorCode error;
  co_await stream_.async_write(asio::buffer(data), to(error));
  if (error) co_return broken(error, "send on the WebSocket");
  if (stream_.next_layer().broken())
    co_return Error{Code::kCancelled, "socket_closed", "the WebSocket's peer is gone", 0};
  co_return Result<void>();
}

Task<void> SocketCore::send_piped(std::string head, KernelPipe payload) {
  auto turn = co_await writing_.lock();
  auto& transport = stream_.next_layer();
  co_await transport.until_written();
  // The last bytes that Beast sent may be its answer to a close, and nothing follows a close.
  if (closed_ || !stream_.is_open())
    co_return Error{Code::kCancelled, "socket_closed", "the WebSocket is closed", 0};
  std::string bytes = head_of(kBinaryFrame, head.size() + payload.size());
  bytes += head;
  const TolerantTransport::Past past(transport);
  if (!transport.broken()) {
    co_await transport.write_past(std::move(bytes), std::move(payload));
  }
  if (transport.broken())
    co_return Error{Code::kCancelled, "socket_closed", "the WebSocket's peer is gone", 0};
  co_return Result<void>();
}

asio::awaitable<void> SocketCore::close(int code, std::string reason) {
  if (too_long_ && !closed_) {
    // A connection that ends with bytes unread ends by a reset, which could take our words away.
    auto passing = pass_over();
    auto passed =
        co_await with_deadline<void>(std::move(passing), kPassOverLimit, "the rest of the message");
    static_cast<void>(passed);  // the close is sent all the same
  }
  auto turn = co_await writing_.lock();
  if (parting_ || (closed_ && close_code_ != kAbnormal)) co_return;
  by_us_ = !closed_;
  closed_ = true;
  close_code_ = code;
  close_reason_ = reason;
  const websocket::close_reason why(static_cast<websocket::close_code>(code), reason);
  auto closing = close_task(stream_, why);
  auto done =
      co_await with_deadline<void>(std::move(closing), kCloseLimit, "the WebSocket's close");
  if (!done) abort();
}

asio::awaitable<void> SocketCore::end() {
  auto parting = part();
  auto parted =
      co_await with_deadline<void>(std::move(parting), kCloseLimit, "the WebSocket's close");
  if (!parted) abort();
}

Task<void> SocketCore::part() {
  CAY_ASSERT(side_ == Side::kServer);  // its frame has no mask
  {
    auto turn = co_await writing_.lock();
    auto& transport = stream_.next_layer();
    co_await transport.until_written();
    if (closed_ || !stream_.is_open() || transport.broken()) co_return Result<void>();
    const TolerantTransport::Past past(transport);
    parting_ = true;
    close_code_ = end_code_;
    co_await transport.write_last(close_frame(end_code_, "the daemon is ending; connect again"));
  }
  while (!closed_ && !left_) {
    co_await changed_.wait();
  }
  // Its close is waited for: a connection that ends with bytes unread ends by a reset, which could
  // take ours away.
  while (!closed_) {
    auto unwanted = co_await read();
    static_cast<void>(unwanted);
  }
  co_return Result<void>();
}

void SocketCore::left() {
  left_ = true;
  changed_.notify();
}

std::string SocketCore::how_it_ended() const {
  if (parting_) return "the daemon ended";
  if (!closed_) return "broken off here";
  if (close_code_ == kAbnormal) return "the connection broke";
  const std::string code = std::to_string(close_code_);
  if (!by_us_) return "the client closed it with " + code;  // its reason is a stranger's text
  return "closed here with " + code + (close_reason_.empty() ? "" : ": " + close_reason_);
}

void SocketCore::abort() {
  closed_ = true;
  changed_.notify();
  beast::get_lowest_layer(stream_).close();
}

asio::awaitable<WsMessage> Socket::read_from(std::shared_ptr<SocketCore> core) {
  auto message = co_await core->read();
  co_return message;
}

Task<void> Socket::send_to(std::shared_ptr<SocketCore> core, std::string data, bool text) {
  auto sent = co_await core->send(std::move(data), text);
  co_return sent;
}

asio::awaitable<std::optional<std::size_t>> Socket::read_some_of(std::shared_ptr<SocketCore> core,
                                                                 std::span<char> into) {
  auto got = co_await core->read_some(into);
  co_return got;
}

Task<void> Socket::send_piped_to(std::shared_ptr<SocketCore> core, std::string head,
                                 KernelPipe payload) {
  auto sent = co_await core->send_piped(std::move(head), std::move(payload));
  co_return sent;
}

asio::awaitable<void> Socket::end_of(std::shared_ptr<SocketCore> core) { co_await core->end(); }

asio::awaitable<void> Socket::close_of(std::shared_ptr<SocketCore> core, int code,
                                       std::string reason) {
  co_await core->close(code, std::move(reason));
}

asio::awaitable<ErrorCode> accept_websocket(
    BeastSocket& stream, const beast::http::request<beast::http::empty_body>& request,
    std::string protocol) {
  ErrorCode error;
  // Otherwise Beast sends its own name and version.
  stream.set_option(
      beast::websocket::stream_base::decorator([protocol](beast::websocket::response_type& answer) {
        answer.set(beast::http::field::server, "cay");
        if (!protocol.empty()) answer.set(beast::http::field::sec_websocket_protocol, protocol);
      }));
  co_await stream.async_accept(request, to(error));
  co_return error;
}

asio::awaitable<ErrorCode> open_websocket(BeastSocket& stream,
                                          beast::websocket::response_type& answer, std::string host,
                                          std::string target) {
  ErrorCode error;
  co_await stream.async_handshake(answer, host, target, to(error));
  co_return error;
}

}  // namespace cay::http
