#include "gate/requests.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"

namespace cay::gate {
namespace {

constexpr std::size_t kMostChunkDigits = 8;
constexpr std::size_t kMostLengthDigits = 18;
constexpr std::string_view kLineEnd = "\r\n";

bool is_hex(char c) { return hex_digit(c) >= 0; }

struct Field {
  std::string_view whole, name, value;
};

// Takes the first of them; the empty line behind them is one without a name.
Field take_field(std::string_view& rest) {
  Field out;
  const std::size_t stop = std::min(rest.find(kLineEnd), rest.size());
  out.whole = rest.substr(0, stop);
  rest.remove_prefix(std::min(rest.size(), stop + kLineEnd.size()));
  const std::size_t colon = std::min(out.whole.find(':'), out.whole.size());
  out.name = out.whole.substr(0, colon);
  out.value = trimmed(out.whole.substr(std::min(out.whole.size(), colon + 1)));
  return out;
}

std::string_view fields_of(std::string_view head) {
  return head.substr(std::min(head.size(), head.find(kLineEnd)) + kLineEnd.size());
}

bool has_token(std::string_view list, std::string_view token) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t stop = std::min(list.find(',', at), list.size());
    if (equals_ignoring_case(trimmed(list.substr(at, stop - at)), token)) return true;
    at = stop + 1;
  }
  return false;
}

// Returns the head without its connection fields, except that it closes. The last head always
// closes.
std::string without_connection(std::string_view head, bool last) {
  constexpr std::string_view kOfConnection[] = {"connection", "keep-alive", "proxy-connection",
                                                "upgrade", "http2-settings"};
  std::string_view rest = fields_of(head);
  std::string out(head.substr(0, head.size() - rest.size()));
  while (!rest.empty()) {
    const Field field = take_field(rest);
    last =
        last || (equals_ignoring_case(field.name, "connection") && has_token(field.value, "close"));
    if (field.whole.empty() || std::ranges::any_of(kOfConnection, [&](std::string_view own) {
          return equals_ignoring_case(field.name, own);
        }))
      continue;
    out.append(field.whole).append(kLineEnd);
  }
  if (last) out.append("Connection: close").append(kLineEnd);
  return out.append(kLineEnd);
}

}  // namespace

bool takes_no_body(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "TRACE" || method == "CONNECT";
}

std::optional<Framing> framing_of(std::string_view head) {
  Framing out;
  const std::string_view line = head.substr(0, head.find(kLineEnd));
  bool has_length = false, is_websocket = false;
  std::string_view rest = fields_of(head);
  while (!rest.empty()) {
    const auto [whole, name, value] = take_field(rest);
    if (equals_ignoring_case(name, "content-length")) {
      // One, of digits alone: a list, a sign or a second one is read differently by different
      // servers.
      if (has_length || value.empty() || value.size() > kMostLengthDigits ||
          !std::ranges::all_of(value, is_digit))
        return std::nullopt;
      has_length = true;
      std::from_chars(value.data(), value.data() + value.size(), out.length);
    } else if (equals_ignoring_case(name, "transfer-encoding")) {
      if (out.chunked || !equals_ignoring_case(value, "chunked")) return std::nullopt;
      out.chunked = true;
    } else if (equals_ignoring_case(name, "upgrade")) {
      is_websocket = !out.asks_to_switch && equals_ignoring_case(value, "websocket");
      out.asks_to_switch = true;
    }
  }
  if (out.chunked && (has_length || !line.ends_with(" HTTP/1.1"))) return std::nullopt;
  out.may_switch = is_websocket && !out.has_body();
  if (out.has_body() && takes_no_body(line.substr(0, line.find(' ')))) return std::nullopt;
  return out;
}

void Requests::add(std::string_view bytes) {
  added_.erase(0, std::exchange(given_, 0));
  added_ += bytes;
}

Requests::Part Requests::next() {
  Part out = one();
  while (out.is == Is::kBody && in_body()) {
    const Part more = one();
    if (more.is != Is::kBody) break;  // the connection fields are written anew
    out.bytes += more.bytes;
  }
  return out;
}

Requests::Part Requests::one() {
  switch (at_) {
    case At::kHead: return head();
    case At::kBody: return body(At::kOver);
    case At::kChunkSize: return chunk_size();
    case At::kChunk: return body(At::kChunkEnd);
    case At::kChunkEnd: return line_end(At::kChunkSize);
    case At::kLastChunk: return line_end(At::kOver);
    case At::kOver: return {.is = Is::kOver};
    case At::kRefused: break;
  }
  return refuse();
}

std::string Requests::take_rest() {
  std::string out(waiting());
  added_.clear();
  given_ = looked_ = 0;
  return out;
}

Requests::Part Requests::refuse(bool names_nobody) {
  at_ = At::kRefused;
  return {.is = Is::kRefused, .names_nobody = names_nobody};
}

Requests::Part Requests::give(std::size_t size) {
  Part out{.is = Is::kBody, .bytes = added_.substr(given_, size)};
  given_ += size;
  return out;
}

Requests::Part Requests::head() {
  if (waiting().empty()) return {};
  // No more than this is ever looked at, however much of it came at once.
  const std::string_view here = waiting().substr(0, kMostFirstBytes);
  const Shown shown = read_request_head(here, std::exchange(looked_, 0));
  if (shown.state == Shown::State::kMore) {
    looked_ = here.size();
    return {};
  }
  if (shown.state != Shown::State::kName) return refuse(shown.state == Shown::State::kNone);
  const auto framing = framing_of(waiting().substr(0, shown.size));
  if (!framing) return refuse();
  Part out = give(shown.size);
  const bool asks_for_other = framing->asks_to_switch && !framing->may_switch;
  if (framing->has_body() || asks_for_other)
    out.bytes = without_connection(out.bytes, framing->has_body());
  out.is = Is::kRequest;
  out.host = shown.host;
  out.may_switch = framing->may_switch;
  left_ = framing->length;
  if (framing->chunked) {
    at_ = At::kChunkSize;
  } else if (left_ > 0) {
    at_ = At::kBody;
  }
  return out;
}

Requests::Part Requests::body(At then) {
  if (waiting().empty()) return {};
  Part out = give(static_cast<std::size_t>(std::min<std::uint64_t>(left_, waiting().size())));
  left_ -= out.bytes.size();
  if (left_ == 0) at_ = then;
  return out;
}

// Digits and the line's end: what else may stand there (extensions) is skipped differently by
// different servers.
Requests::Part Requests::chunk_size() {
  const std::string_view here = waiting();
  const auto digits =
      static_cast<std::size_t>(std::ranges::find_if_not(here, is_hex) - here.begin());
  if (digits > kMostChunkDigits) return refuse();
  const std::string_view end = here.substr(digits, kLineEnd.size());
  if (!kLineEnd.starts_with(end) || (digits == 0 && !end.empty())) return refuse();
  if (end.size() < kLineEnd.size()) return {};
  std::from_chars(here.data(), here.data() + digits, left_, 16);
  at_ = left_ > 0 ? At::kChunk : At::kLastChunk;
  return give(digits + kLineEnd.size());
}

// Behind the last chunk as well: fields there are taken into the head by some servers.
Requests::Part Requests::line_end(At then) {
  const std::string_view end = waiting().substr(0, kLineEnd.size());
  if (!kLineEnd.starts_with(end)) return refuse();
  if (end.size() < kLineEnd.size()) return {};
  at_ = then;
  return give(kLineEnd.size());
}

}  // namespace cay::gate
