// Headers and the small helpers of message.h.
#include "http/message.h"

#include <algorithm>

#include "base/ascii.h"
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

std::set<std::string, std::less<>> connection_options(const Headers& headers) {
  std::set<std::string, std::less<>> out;
  for (const auto& [name, value] : headers.items()) {
    if (!equals_ignoring_case(name, "Connection")) continue;
    for (const auto member : split_list(value)) out.insert(lowered(member));
  }
  return out;
}

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

}  // namespace cay::http
