// Heads of HTTP/1.1 messages. What is refused here and why: obsolete line folding, bare CR or LF,
// blanks before the colon, Content-Length that repeats or stands beside Transfer-Encoding: two
// parsers disagree about each of them, and that disagreement is how requests are smuggled.
#include "http/head_parser.h"

#include <algorithm>

#include "http/target.h"
#include "http/text.h"

namespace cay::http {

namespace {

constexpr std::size_t kMaxFields = 128;

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u == '\t' || (u >= 0x20 && u != 0x7f);
  });
}

bool is_target(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_host(std::string_view text) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alnum || std::string_view("-._~:[]%").find(c) != std::string_view::npos;
  });
}

// Takes one line, without its CRLF. nullopt: no CRLF, or a CR or LF elsewhere.
std::optional<std::string_view> take_line(std::string_view& bytes) {
  const auto end = bytes.find_first_of("\r\n");
  if (end == std::string_view::npos || bytes.substr(end, 2) != "\r\n") return std::nullopt;
  const auto line = bytes.substr(0, end);
  bytes.remove_prefix(end + 2);
  return line;
}

std::optional<BadHead> parse_fields(std::string_view bytes, Headers& headers) {
  std::size_t count = 0;
  for (;;) {
    const auto line = take_line(bytes);
    if (!line) return BadHead{400, "a header line does not end with CRLF"};
    if (line->empty()) {
      if (!bytes.empty()) return BadHead{400, "bytes after the head"};
      return std::nullopt;
    }
    if (++count > kMaxFields) return BadHead{431, "more than 128 header fields"};
    if (line->front() == ' ' || line->front() == '\t') {
      return BadHead{400, "folded header lines are obsolete and not accepted"};
    }
    const auto colon = line->find(':');
    if (colon == std::string_view::npos) return BadHead{400, "a header line without a colon"};
    const auto name = line->substr(0, colon);
    const auto value = trim(line->substr(colon + 1));
    if (!is_token(name)) return BadHead{400, "a header name with characters that names cannot have"};
    if (!is_field_value(value)) return BadHead{400, "control characters in a header value"};
    headers.add(std::string(name), std::string(value));
  }
}

std::optional<std::uint64_t> parse_length(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::optional<BadHead> parse_framing(const Headers& headers, bool http10, Framing& framing) {
  int lengths = 0;
  int codings = 0;
  for (const auto& [name, value] : headers.items()) {
    if (equals_ignoring_case(name, "Content-Length")) {
      ++lengths;
      framing.length = parse_length(value);
      if (!framing.length) return BadHead{400, "Content-Length is not a number"};
    } else if (equals_ignoring_case(name, "Transfer-Encoding")) {
      ++codings;
      if (!equals_ignoring_case(value, "chunked")) {
        return BadHead{501, "no Transfer-Encoding but chunked is supported"};
      }
      framing.chunked = true;
    }
  }
  if (lengths > 1) return BadHead{400, "more than one Content-Length"};
  if (codings > 1) return BadHead{400, "more than one Transfer-Encoding"};
  if (lengths > 0 && codings > 0) return BadHead{400, "both Content-Length and Transfer-Encoding"};
  if (codings > 0 && http10) return BadHead{400, "Transfer-Encoding in HTTP/1.0"};
  return std::nullopt;
}

bool parse_keep_alive(const Headers& headers, bool http10) {
  bool keep = !http10;
  for (const auto& [name, value] : headers.items()) {
    if (!equals_ignoring_case(name, "Connection")) continue;
    if (list_has(value, "close")) return false;
    if (list_has(value, "keep-alive")) keep = true;
  }
  return keep;
}

// "HTTP/1.1" -> 1, "HTTP/1.0" -> 0.
std::variant<int, BadHead> parse_version(std::string_view text) {
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  const bool shaped = text.size() == 8 && text.substr(0, 5) == "HTTP/" && text[6] == '.';
  if (shaped && text[5] >= '2' && text[5] <= '9') return BadHead{505, "only HTTP/1.1 is spoken here"};
  return BadHead{400, "the request line does not end with HTTP/1.1"};
}

std::optional<BadHead> parse_request_line(std::string_view line, ParsedRequest& out) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return BadHead{400, "malformed request line"};
  const auto method = line.substr(0, first);
  const auto target = line.substr(first + 1, last - first - 1);
  auto version = parse_version(line.substr(last + 1));
  if (auto* bad = std::get_if<BadHead>(&version)) return *bad;
  out.http10 = std::get<int>(version) == 0;
  if (!is_token(method) || method.size() > 32) return BadHead{400, "malformed method"};
  if (!is_target(target)) return BadHead{400, "malformed request target"};
  out.head.method = method;
  out.head.target = target;
  return std::nullopt;
}

std::optional<BadHead> parse_target(ParsedRequest& out) {
  if (out.head.target == "*" && out.head.method == "OPTIONS") return std::nullopt;
  const auto parts = split_target(out.head.target);
  if (!parts) return BadHead{400, "the request target must be a path"};
  auto segments = split_path(parts->path);
  auto query = Query::parse(parts->query);
  if (!segments || !query) return BadHead{400, "bad percent-encoding in the request target"};
  out.head.segments = *std::move(segments);
  out.head.query = *std::move(query);
  out.head.host = parts->authority;
  if (!parts->authority.empty()) {  // facades see origin-form only; the view dies with the assignment
    auto origin = std::string(parts->path) + (parts->query.empty() ? "" : "?" + std::string(parts->query));
    out.head.target = std::move(origin);
  }
  return std::nullopt;
}

std::optional<BadHead> parse_host(ParsedRequest& out) {
  int hosts = 0;
  std::string_view host;
  for (const auto& [name, value] : out.head.headers.items()) {
    if (!equals_ignoring_case(name, "Host")) continue;
    ++hosts;
    host = value;
  }
  if (hosts > 1) return BadHead{400, "more than one Host"};
  if (hosts == 0 && !out.http10) return BadHead{400, "the Host header is missing"};
  if (hosts == 1 && !is_host(host)) return BadHead{400, "malformed Host header"};
  if (out.head.host.empty()) out.head.host = host;
  if (!out.head.host.empty() && !is_host(out.head.host)) return BadHead{400, "malformed host"};
  return std::nullopt;
}

}  // namespace

std::size_t find_head_end(std::string_view bytes) {
  const auto end = bytes.find("\r\n\r\n");
  return end == std::string_view::npos ? 0 : end + 4;
}

bool asks_for_websocket(const Headers& headers) {
  bool upgrade = false;
  bool connection = false;
  for (const auto& [name, value] : headers.items()) {
    if (equals_ignoring_case(name, "Upgrade")) upgrade = upgrade || list_has(value, "websocket");
    if (equals_ignoring_case(name, "Connection")) connection = connection || list_has(value, "upgrade");
  }
  return upgrade && connection;
}

std::variant<ParsedRequest, BadHead> parse_request_head(std::string_view bytes) {
  ParsedRequest out;
  const auto line = take_line(bytes);
  if (!line) return BadHead{400, "the request line does not end with CRLF"};
  if (auto bad = parse_request_line(*line, out)) return *std::move(bad);
  if (auto bad = parse_fields(bytes, out.head.headers)) return *std::move(bad);
  if (auto bad = parse_target(out)) return *std::move(bad);
  if (auto bad = parse_host(out)) return *std::move(bad);
  if (auto bad = parse_framing(out.head.headers, out.http10, out.framing)) return *std::move(bad);
  out.keep_alive = parse_keep_alive(out.head.headers, out.http10);
  out.head.wants_websocket = asks_for_websocket(out.head.headers);
  if (const auto expect = out.head.headers.get("Expect"); expect && !out.http10) {
    if (!equals_ignoring_case(*expect, "100-continue")) return BadHead{417, "unknown expectation"};
    out.expects_continue = true;
  }
  return out;
}

std::variant<ParsedResponse, BadHead> parse_response_head(std::string_view bytes) {
  ParsedResponse out;
  const auto line = take_line(bytes);
  if (!line || line->size() < 12) return BadHead{502, "malformed status line"};
  auto version = parse_version(line->substr(0, 8));
  if (std::holds_alternative<BadHead>(version)) return BadHead{502, "not an HTTP/1.1 answer"};
  out.http10 = std::get<int>(version) == 0;
  const auto code = line->substr(9, 3);
  const bool digits = std::all_of(code.begin(), code.end(), [](char c) { return c >= '0' && c <= '9'; });
  if ((*line)[8] != ' ' || !digits || code[0] == '0' || (line->size() > 12 && (*line)[12] != ' ')) {
    return BadHead{502, "malformed status line"};
  }
  out.status = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
  if (auto bad = parse_fields(bytes, out.headers)) return *std::move(bad);
  if (auto bad = parse_framing(out.headers, out.http10, out.framing)) return *std::move(bad);
  out.keep_alive = parse_keep_alive(out.headers, out.http10);
  return out;
}

}  // namespace cay::http
