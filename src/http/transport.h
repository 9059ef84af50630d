// The Beast types behind src/http, in one place: TCP and UNIX sockets alike.
#pragma once
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/task.h"

namespace cay::http {

namespace beast = boost::beast;

using Transport = beast::basic_stream<asio::generic::stream_protocol, asio::any_io_executor>;
using ErrorCode = beast::error_code;

// co_await op(..., to(error)): errors as values; only a cancelled caller throws, at its next wait.
inline auto to(ErrorCode& error) { return asio::redirect_error(asio::use_awaitable, error); }

inline Error broken(const ErrorCode& error, const char* what) {
  return {Code::kUnavailable, "connection_lost", std::string(what) + ": " + error.message(),
          error.value()};
}

}  // namespace cay::http
