// ClientCall: one request on one connection. Sending and waiting for the answer overlap: a server
// that refuses an upload says so while we still send.
#include "http/client_call.h"

#include <utility>
#include <vector>

#include "async/deadline.h"
#include "http/chunked.h"
#include "http/serialize.h"

namespace cay::http {

namespace {
Error lost(std::string message) { return Error{Code::kUnavailable, "connection_lost", std::move(message), 0}; }
}  // namespace

ClientCall::ClientCall(std::shared_ptr<Stream> stream, std::string head, Limits limits)
    : stream_(std::move(stream)), head_(std::move(head)), limits_(limits), sent_(stream_->executor()) {}

Task<ParsedResponse> ClientCall::run(std::string body, std::unique_ptr<ByteSource> source,
                                     std::optional<std::uint64_t> length, bool may_have_body) {
  if (source && length) {
    append_field(head_, "Content-Length", std::to_string(*length));
  } else if (source) {
    append_field(head_, "Transfer-Encoding", "chunked");
  } else if (may_have_body || !body.empty()) {
    append_field(head_, "Content-Length", std::to_string(body.size()));
  }
  head_ += "\r\n";
  Scope scope(stream_->executor());
  scope.spawn(send(std::move(body), std::move(source), length));
  if (limits_.response_timeout > Millis(0)) scope.spawn(limit_wait());
  auto answer = co_await scope.until(wait_for_answer());
  if (source_error_) co_return *std::move(source_error_);
  co_return answer;
}

asio::awaitable<void> ClientCall::send(std::string body, std::unique_ptr<ByteSource> source,
                                       std::optional<std::uint64_t> length) {
  bool ok = true;
  if (source) {
    auto error = co_await stream_->write(head_);
    ok = !error;
    if (ok) {
      ok = co_await send_source(std::move(source), length);
    }
  } else {
    const std::vector<asio::const_buffer> both = {asio::buffer(head_), asio::buffer(body)};
    auto error = co_await stream_->write_all(both);
    ok = !error;  // reading tells what happened: the server may have answered before it closed
  }
  sent_all_ = ok;
  sent_.set();
}

asio::awaitable<bool> ClientCall::send_source(std::unique_ptr<ByteSource> source, std::optional<std::uint64_t> length) {
  std::uint64_t total = 0;
  for (;;) {
    auto piece = co_await source->next();
    const bool over = piece && length && piece->size() > *length - total;
    const bool short_of = piece && piece->empty() && length && total != *length;
    if (!piece || over || short_of) {
      source_error_ = piece ? Error{Code::kInvalidArgument, "wrong_length", "the body is not as long as was said", 0}
                            : std::move(piece).error();
      stream_->abort();  // a cut body must not look whole
      co_return false;
    }
    if (piece->empty()) break;
    total += piece->size();
    const auto size_line = length ? std::string() : chunk_head(piece->size());
    std::vector<asio::const_buffer> buffers;
    if (!length) buffers.emplace_back(asio::buffer(size_line));
    buffers.emplace_back(asio::buffer(*piece));
    if (!length) buffers.emplace_back(asio::const_buffer("\r\n", 2));
    auto error = co_await stream_->write_all(buffers);
    if (error) co_return false;
  }
  if (length) co_return true;
  auto error = co_await stream_->write(kLastChunk);
  co_return !error;
}

asio::awaitable<void> ClientCall::limit_wait() {
  co_await sent_.wait();
  co_await sleep_for(limits_.response_timeout);
  timed_out_ = true;
  stream_->close();
}

Task<ParsedResponse> ClientCall::wait_for_answer() {
  for (;;) {
    auto answer = co_await read_head();
    if (!answer) co_return answer;
    if (answer->status < 200 && answer->status != 101) continue;
    if (answer->status < 300) {
      co_await sent_.wait();
    }
    co_return answer;
  }
}

Task<ParsedResponse> ClientCall::read_head() {
  for (;;) {
    const auto bytes = stream_->buffered();
    if (!bytes.empty()) answered_ = true;
    const auto size = find_head_end(bytes);
    if (size > limits_.max_head || (size == 0 && bytes.size() > limits_.max_head)) {
      co_return lost("the answer's head is longer than " + std::to_string(limits_.max_head) + " bytes");
    }
    if (size > 0) {
      auto parsed = parse_response_head(bytes.substr(0, size));
      stream_->consume(size);
      if (auto* bad = std::get_if<BadHead>(&parsed)) co_return lost("the server does not speak HTTP: " + bad->message);
      co_return std::move(std::get<ParsedResponse>(parsed));
    }
    auto got = co_await stream_->fill();
    co_await throw_if_cancelled();
    if (timed_out_) {
      co_return Error{Code::kDeadlineExceeded, "response_timeout",
                      "no answer within " + std::to_string(limits_.response_timeout.count()) + " ms", 0};
    }
    if (got.error || got.bytes == 0) co_return lost("the server closed the connection before it answered");
  }
}

}  // namespace cay::http
