// RequestHead from Beast's parsed request: all rules that Cay adds to the grammar, so that no two
// parsers can read one request differently. Pure. The bytes are a stranger's.
#pragma once
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "http/message.h"

namespace cay::http {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

// The error to answer instead.
struct BadRequest {
  int status;
  Error error;
};

// Returns the fault in how a request declares its body's length (RFC 9112, 6.1 and 6.3), or
// nullopt. `version` 11 is HTTP/1.1. Beast reads a coding that it does not know as no body, and the
// body as the next request. So a caller that answers such a fault ends the connection.
std::optional<BadRequest> bad_framing_of(const Headers& headers, unsigned version);

// `secured`: it came over TLS.
std::variant<RequestHead, BadRequest> head_of(
    const boost::beast::http::request<boost::beast::http::buffer_body>& request, std::string peer,
    bool secured);

}  // namespace cay::http
