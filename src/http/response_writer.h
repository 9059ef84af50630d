// ResponseWriter: writes the response of one request: a whole one, a stream, or the 101 that begins
// another protocol.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "async/kernel_pipe.h"
#include "async/task.h"
#include "http/message.h"
#include "http/request_connection.h"

namespace cay::http {

class ResponseWriter {
 public:
  // `connection` and `head` are the request's. `version` 11 is HTTP/1.1.
  ResponseWriter(RequestConnection& connection, const RequestHead& head, unsigned version)
      : connection_(connection), head_(head), version_(version) {}

  // Each is called while the connection is there, and one of them once. See Exchange.
  asio::awaitable<void> write(Response response);
  asio::awaitable<void> write_stream(int status, Headers headers,
                                     std::optional<std::uint64_t> length,
                                     std::unique_ptr<ByteSource> bytes);
  Task<void> switch_protocols(Headers headers);

 private:
  template <class Message>
  void fill(Message& message, const Headers& headers);
  asio::awaitable<ErrorCode> write_piped(KernelPipe pipe);
  Task<ErrorCode> write_slowly(KernelPipe& pipe);
  // The client sees that the response is cut short.
  void cut_short();

  RequestConnection& connection_;
  const RequestHead& head_;
  unsigned version_;
};

}  // namespace cay::http
