// Messages of Beast's kind, written to a channel by their serializer's own steps. Beast's
// async_write does the same as composed operations, which every kind of message would compile anew.
#pragma once
#include <boost/beast/http/serializer.hpp>

#include "http/channel.h"

namespace cay::http {

// A whole message is tried at once. The pieces of a stream wait each time, so that other
// connections have their turn.
enum class Write { kAtOnce, kInTurn };

// Until `is_over(writer)`, or an error: that of the connection, or need_buffer of a buffer_body.
template <class Serializer, class IsOver>
asio::awaitable<void> write_until(Channel& to_channel, Serializer& writer, ErrorCode& error,
                                  Write how, IsOver is_over) {
  error = {};
  while (!is_over(writer)) {
    Channel::OutBuffers bytes;
    bool more = false;
    writer.next(error, [&](ErrorCode&, const auto& buffers) {
      more = true;
      bytes = Channel::first_of<Channel::OutBuffers>(buffers);
    });
    if (error) co_return;
    if (!more) continue;  // that was the end
    std::size_t written = 0;
    if (how == Write::kAtOnce && !bytes.empty()) written = to_channel.write_now(bytes);
    if (written == 0 && !bytes.empty()) {
      written = co_await to_channel.async_write_some(bytes, to(error));
    }
    if (error) co_return;
    writer.consume(written);
  }
}

// The head alone; its body is the caller's, by write_rest, or has none.
template <class Serializer>
asio::awaitable<void> write_head(Channel& to_channel, Serializer& writer, ErrorCode& error) {
  writer.split(true);
  return write_until(to_channel, writer, error, Write::kAtOnce,
                     [](Serializer& at) { return at.is_header_done(); });
}

// Writes what is left: all, or up to the next piece of a buffer_body, which is no error here.
template <class Serializer>
asio::awaitable<void> write_rest(Channel& to_channel, Serializer& writer, ErrorCode& error,
                                 Write how = Write::kInTurn) {
  writer.split(false);
  co_await write_until(to_channel, writer, error, how, [](Serializer& at) { return at.is_done(); });
  if (error == beast::http::error::need_buffer) error = {};
}

template <bool kIsRequest, class Body>
asio::awaitable<void> write_message(Channel& to_channel,
                                    beast::http::message<kIsRequest, Body>& message,
                                    ErrorCode& error) {
  beast::http::serializer<kIsRequest, Body> writer(message);
  co_await write_rest(to_channel, writer, error, Write::kAtOnce);
}

}  // namespace cay::http
