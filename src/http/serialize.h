// Heads as bytes. Header names and values that would break the framing are made harmless.
#pragma once
#include <string>
#include <string_view>

#include "http/message.h"

namespace cay::http {

std::string_view reason_phrase(int status);

// "HTTP/1.1 200 OK\r\n" and the fields, without the final blank line. Content-Length, Transfer-
// Encoding and Connection of `headers` are left out: the caller adds what is true.
std::string response_head(int status, const Headers& headers);
std::string request_head(std::string_view method, std::string_view target, std::string_view host,
                         const Headers& headers);
void append_field(std::string& head, std::string_view name, std::string_view value);

// "Sat, 21 Nov 2026 04:14:05 GMT", renewed once a second.
const std::string& http_date();

}  // namespace cay::http
