#include "http/response_writer.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>

#include "async/deadline.h"
#include "async/piped.h"
#include "base/ascii.h"
#include "http/write_message.h"

namespace cay::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kMostWithHead = 256 * 1024;
constexpr unsigned kHttp11 = 11;

// Framing and hop-by-hop fields are Beast's.
bool is_ours(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") ||
         equals_ignoring_case(name, "Transfer-Encoding") ||
         equals_ignoring_case(name, "Connection");
}

bool bodyless(int status) {
  return status == 204 || status == 304 || (status >= 100 && status < 200);
}

// Takes the bytes that are here already: they go out with the head. Returns true if they are the
// whole body.
bool gather_ready(PipedSource& source, std::optional<std::uint64_t> length, Bytes& first) {
  while (first.size() < kMostWithHead) {
    auto come = source.come();
    if (!come) return false;
    if (come->empty()) return !length || first.size() == *length;
    first += *come;
  }
  return false;
}

}  // namespace

template <class Message>
void ResponseWriter::fill(Message& message, const Headers& headers) {
  message.version(11);
  for (const auto& [name, value] : headers.items()) {
    if (!is_ours(name)) message.insert(name, value);
  }
  message.keep_alive(connection_.keep_alive());
}

asio::awaitable<void> ResponseWriter::write(Response response) {
  connection_.transport().expires_after(connection_.config().body_limit);
  ErrorCode error;
  const auto status = static_cast<unsigned>(response.status);
  if (head_.method == "HEAD" || bodyless(response.status)) {
    bhttp::response<bhttp::empty_body> message;
    message.result(status);
    fill(message, response.headers);
    if (!bodyless(response.status)) message.content_length(response.body.size());
    bhttp::response_serializer<bhttp::empty_body> writer(message);
    co_await write_head(connection_.channel(), writer, error);
  } else {
    bhttp::response<bhttp::string_body> message;
    message.result(status);
    fill(message, response.headers);
    message.body() = std::move(response.body);
    message.content_length(message.body().size());
    co_await write_message(connection_.channel(), message, error);
  }
  if (error) connection_.close_after();
  // A caller that waits for the end of the connection must not wait for a handler that has nobody
  // to answer.
  if (connection_.is_broken_off() && !connection_.is_gone())
    connection_.transport().socket().shutdown(asio::socket_base::shutdown_send, error);
}

asio::awaitable<void> ResponseWriter::write_stream(int status, Headers headers,
                                                   std::optional<std::uint64_t> length,
                                                   std::unique_ptr<ByteSource> bytes) {
  bhttp::response<bhttp::buffer_body> message;
  message.result(static_cast<unsigned>(status));
  // RFC 9112, 6.1: HTTP/1.0 knows no chunks. There the end of the connection is the end of the
  // body, so one that is cut short is a reset.
  const bool to_end = !length && version_ < kHttp11;
  if (to_end) connection_.close_after();
  fill(message, headers);
  if (length) {
    message.content_length(*length);
  } else if (!to_end) {
    message.chunked(true);
  }
  auto* piped = dynamic_cast<PipedSource*>(bytes.get());
  const bool head_alone = head_.method == "HEAD";
  Bytes first;
  bool whole = false;
  if (piped != nullptr && !head_alone) whole = gather_ready(*piped, length, first);
  message.body().data = first.empty() ? nullptr : first.data();
  message.body().size = first.size();
  message.body().more = !whole;
  bhttp::response_serializer<bhttp::buffer_body> writer(message);
  connection_.transport().expires_after(connection_.config().body_limit);
  ErrorCode error;
  if (first.empty() && !whole) {
    co_await write_head(connection_.channel(), writer, error);
  } else {
    co_await write_rest(connection_.channel(), writer, error);
  }
  if (head_alone || whole) {
    if (error) connection_.close_after();
    co_return;
  }
  std::uint64_t sent = first.size();
  if (connection_.is_gone() || connection_.channel().secured() != nullptr || !length)
    piped = nullptr;
  while (!error) {
    if (piped != nullptr && sent < *length && piped->can_splice()) {
      connection_.transport().expires_never();
      auto pipe = co_await piped->next_piped();
      if (!pipe) {
        cut_short();
        co_return;
      }
      if (connection_.is_gone()) co_return;
      sent += pipe->size();
      error = co_await write_piped(*std::move(pipe));
      continue;
    }
    connection_.transport()
        .expires_never();  // the source may take its time: a command that is silent
    auto piece = co_await bytes->next();
    // A source that fails, or a length that was not kept: the client must see a broken answer.
    const bool failed = !piece || (piece->empty() && length && sent != *length);
    if (failed) {
      cut_short();
      co_return;
    }
    if (connection_.is_gone()) co_return;
    sent += piece->size();
    message.body().data = piece->empty() ? nullptr : piece->data();
    message.body().size = piece->size();
    message.body().more = !piece->empty();
    const bool last = piece->empty();
    connection_.transport().expires_after(connection_.config().body_limit);
    co_await write_rest(connection_.channel(), writer, error);
    if (last) break;
  }
  if (error) connection_.close_after();
}

asio::awaitable<ErrorCode> ResponseWriter::write_piped(KernelPipe pipe) {
  ErrorCode error;
  if (give_now(connection_.transport().socket(), pipe, error)) {
    const auto loop = co_await asio::this_coro::executor;
    co_await asio::post(loop, asio::use_awaitable);  // others have their turn
    co_return error;
  }
  if (error) co_return error;
  auto rest = write_slowly(pipe);
  auto done = co_await with_deadline<ErrorCode>(std::move(rest), connection_.config().body_limit,
                                                "the answer");
  if (done) co_return *done;
  connection_.reset();
  co_return asio::error::timed_out;
}

Task<ErrorCode> ResponseWriter::write_slowly(KernelPipe& pipe) {
  ErrorCode error;
  co_await give_to(connection_.transport().socket(), pipe, error);
  co_return error;
}

void ResponseWriter::cut_short() {
  connection_.close_after();
  connection_.reset();
}

Task<void> ResponseWriter::switch_protocols(Headers headers) {
  bhttp::response<bhttp::empty_body> message(bhttp::status::switching_protocols, 11);
  for (const auto& [name, value] : headers.items()) {
    if (!is_ours(name)) message.insert(name, value);
  }
  message.set(bhttp::field::connection, "Upgrade");
  connection_.transport().expires_after(connection_.config().body_limit);
  bhttp::response_serializer<bhttp::empty_body> writer(message);
  ErrorCode error;
  co_await write_head(connection_.channel(), writer, error);
  if (error) co_return broken(error, "answer the client");
  co_return Result<void>();
}

}  // namespace cay::http
