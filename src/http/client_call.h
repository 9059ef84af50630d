// ClientCall: one request on one connection, until the answer's head has come.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/scope.h"
#include "http/client.h"
#include "http/head_parser.h"
#include "http/stream.h"

namespace cay::http {

class ClientCall {
 public:
  struct Limits {
    Millis response_timeout{0};
    std::size_t max_head = 64 * 1024;
  };
  // `head` is complete but for its last blank line and what frames the body.
  ClientCall(std::shared_ptr<Stream> stream, std::string head, Limits limits);

  // Sends the head and the body and reads the answer's head; "100 Continue" and the like are passed
  // over. A server may answer before it has the whole body: an error stops the upload, a success
  // waits for its end.
  Task<ParsedResponse> run(std::string body, std::unique_ptr<ByteSource> source, std::optional<std::uint64_t> length,
                           bool may_have_body);

  bool sent_all() const { return sent_all_; }
  bool answered() const { return answered_; }  // at least one byte of an answer came

 private:
  asio::awaitable<void> send(std::string body, std::unique_ptr<ByteSource> source, std::optional<std::uint64_t> length);
  asio::awaitable<void> limit_wait();
  Task<ParsedResponse> wait_for_answer();
  Task<ParsedResponse> read_head();
  asio::awaitable<bool> send_source(std::unique_ptr<ByteSource> source, std::optional<std::uint64_t> length);

  std::shared_ptr<Stream> stream_;
  std::string head_;
  Limits limits_;
  Event sent_;
  std::optional<Error> source_error_;
  bool sent_all_ = false;
  bool answered_ = false;
  bool timed_out_ = false;
};

}  // namespace cay::http
