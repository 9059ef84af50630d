// Text helpers of the HTTP grammar.
#include "http/text.h"

#include <algorithm>

#include "base/ascii.h"

namespace cay::http {

std::string_view relative_name(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool is_token(std::string_view text) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) ||
           (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  });
}

std::vector<std::string_view> split_list(std::string_view value) {
  std::vector<std::string_view> members;
  while (!value.empty()) {
    const auto end = std::min(value.find(','), value.size());
    const auto member = trimmed(value.substr(0, end));
    if (!member.empty()) members.push_back(member);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return members;
}

bool list_has(std::string_view value, std::string_view member) {
  const auto members = split_list(value);
  return std::any_of(members.begin(), members.end(),
                     [member](std::string_view m) { return equals_ignoring_case(m, member); });
}

}  // namespace cay::http
