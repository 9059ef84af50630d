// RequestHead from what Beast parsed of a request: all the rules that Cay adds to the grammar, so that no two parsers can
// read one request differently. Pure; the bytes are a stranger's.
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

// What to answer instead.
struct BadRequest {
  int status;
  Error error;
};

// What is wrong with how a request tells its body's length (RFC 9112, 6.1 and 6.3); nullopt: nothing. `version`: 11 is HTTP/1.1. To Beast a coding that it
// does not know is no body, and what follows the next request: whoever answers this ends the connection.
std::optional<BadRequest> bad_framing_of(const Headers& headers, unsigned version);

// `secured`: it came over TLS.
std::variant<RequestHead, BadRequest> head_of(const boost::beast::http::request<boost::beast::http::buffer_body>& request, std::string peer,
                                              bool secured);

}  // namespace cay::http
