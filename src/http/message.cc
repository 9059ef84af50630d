// Headers, Query and the small helpers of message.h.
#include "http/message.h"

#include <algorithm>

#include "http/target.h"
#include "http/text.h"

namespace cay::http {

void Headers::set(std::string_view name, std::string value) {
  const auto same = [name](const auto& item) { return equals_ignoring_case(item.first, name); };
  items_.erase(std::remove_if(items_.begin(), items_.end(), same), items_.end());
  items_.emplace_back(std::string(name), std::move(value));
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const auto& [key, value] : items_) {
    if (equals_ignoring_case(key, name)) return value;
  }
  return std::nullopt;
}

std::optional<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const auto equals = std::min(part.find('='), part.size());
    auto name = percent_decode(part.substr(0, equals), Plus::kSpace);
    auto value = percent_decode(part.substr(std::min(equals + 1, part.size())), Plus::kSpace);
    if (!name || !value) return std::nullopt;
    query.items_.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

std::optional<std::string_view> Query::get(std::string_view name) const {
  for (const auto& [key, value] : items_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : items_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

}  // namespace cay::http
