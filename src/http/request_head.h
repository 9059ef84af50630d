// RequestHead from what Beast parsed of a request: all the rules that Cay adds to the grammar, so that no two parsers can
// read one request differently. Pure; the bytes are a stranger's.
#pragma once
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
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

// `secured`: it came over TLS.
std::variant<RequestHead, BadRequest> head_of(const boost::beast::http::request<boost::beast::http::buffer_body>& request, std::string peer,
                                              bool secured);

}  // namespace cay::http
