// Heads as bytes.
#include "http/serialize.h"

#include <cstdio>
#include <ctime>

#include "http/text.h"

namespace cay::http {

namespace {

bool is_ours(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") || equals_ignoring_case(name, "Connection") ||
         equals_ignoring_case(name, "Transfer-Encoding");
}

void append_fields(std::string& head, const Headers& headers) {
  for (const auto& [name, value] : headers.items()) {
    if (!is_ours(name) && is_token(name)) append_field(head, name, value);
  }
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  for (char c : value) {
    const auto u = static_cast<unsigned char>(c);
    head.push_back((u < 0x20 && c != '\t') || u == 0x7f ? ' ' : c);
  }
  head.append("\r\n");
}

std::string response_head(int status, const Headers& headers) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
  head.append(reason_phrase(status)).append("\r\n");
  if (!headers.get("Date") && status >= 200) append_field(head, "Date", http_date());
  append_fields(head, headers);
  return head;
}

std::string request_head(std::string_view method, std::string_view target, std::string_view host,
                         const Headers& headers) {
  std::string head;
  head.append(method).append(" ").append(target).append(" HTTP/1.1\r\n");
  append_field(head, "Host", host);
  for (const auto& [name, value] : headers.items()) {
    const bool ours = is_ours(name) || equals_ignoring_case(name, "Host");
    if (!ours && is_token(name)) append_field(head, name, value);
  }
  return head;
}

const std::string& http_date() {
  thread_local std::string text;
  thread_local std::time_t of = 0;
  const auto now = std::time(nullptr);
  if (now == of && !text.empty()) return text;
  // Not strftime: month names must not follow the locale.
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm tm{};
  gmtime_r(&now, &tm);
  char buffer[64];
  const int size = std::snprintf(buffer, sizeof buffer, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                 kDays[tm.tm_wday], tm.tm_mday, kMonths[tm.tm_mon], tm.tm_year + 1900,
                                 tm.tm_hour, tm.tm_min, tm.tm_sec);
  text.assign(buffer, static_cast<std::size_t>(size));
  of = now;
  return text;
}

}  // namespace cay::http
