#include "api/native/request.h"

#include <charconv>

#include "api/common/request_body.h"

namespace cay::api::native {

std::string param(http::Exchange& exchange, const std::string& name) {
  const auto found = exchange.params().find(name);
  return found == exchange.params().end() ? std::string() : found->second;
}

std::string query_or(http::Exchange& exchange, std::string_view name, std::string_view otherwise) {
  return std::string(exchange.head().query.get(name).value_or(otherwise));
}

Result<bool> query_bool(http::Exchange& exchange, std::string_view name, bool otherwise) {
  const auto text = exchange.head().query.get(name);
  if (!text) return otherwise;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  if (*text == "false" || *text == "0") return false;
  return invalid("invalid_query", std::string(name) + "= must be true or false");
}

Result<std::uint64_t> query_number(http::Exchange& exchange, std::string_view name,
                                   std::uint64_t otherwise, std::uint64_t min, std::uint64_t max) {
  const auto text = exchange.head().query.get(name);
  if (!text) return otherwise;
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failed != std::errc() || end != text->data() + text->size() || value < min || value > max) {
    return invalid("invalid_query", std::string(name) + "= must be a number from " +
                                        std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

Result<Position> position_of(std::string_view text, const char* name) {
  Position out;
  if (text == "now") {
    out.from_now = true;
    return out;
  }
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out.after);
  const bool fits = out.after <= INT64_MAX;  // what the store can hold
  if (failed == std::errc() && end == text.data() + text.size() && fits) return out;
  return invalid("invalid_query",
                 std::string(name) + " must be the number of one that was seen, or now");
}

Result<std::pair<std::string, std::optional<std::string>>> label_filter(std::string_view text) {
  const auto equals = text.find('=');
  std::pair<std::string, std::optional<std::string>> out(text.substr(0, equals), std::nullopt);
  if (out.first.empty()) return invalid("invalid_query", "a label is KEY or KEY=VALUE");
  if (equals != std::string_view::npos) out.second = std::string(text.substr(equals + 1));
  return out;
}

Result<std::string> query_path(http::Exchange& exchange) {
  const auto path = exchange.head().query.get("path");
  if (!path || path->empty())
    return invalid("invalid_query", "path= is needed: the path inside the sandbox");
  return std::string(*path);
}

FileAs file_as(std::string user) {
  FileAs as;
  as.user = std::move(user);
  return as;
}

bool wants_lines(const http::RequestHead& head) {
  const auto accept = head.headers.get("Accept");
  return accept && accept->find("application/x-ndjson") != std::string_view::npos;
}

FileAs query_as(http::Exchange& exchange) { return file_as(query_or(exchange, "user", "")); }

Task<codec::json::object> body_object(ExchangePtr exchange, std::size_t limit, codec::Empty empty) {
  auto body = co_await read_request_body(exchange, limit);
  if (!body) co_return std::move(body).error();
  co_return codec::parse_object(*body, empty, codec::of_one_tree());
}

}  // namespace cay::api::native
