// Query: what stands behind the path of a target, decoded.
#include <algorithm>

#include "http/message.h"
#include "http/target.h"

namespace cay::http {

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

}  // namespace cay::http
