// Text helpers of the HTTP grammar.
#include "http/text.h"

#include <algorithm>

namespace cay::http {

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

std::string_view relative_name(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

bool is_token(std::string_view text) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alnum ||
           (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  });
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_list(std::string_view value) {
  std::vector<std::string_view> members;
  while (!value.empty()) {
    const auto end = std::min(value.find(','), value.size());
    const auto member = trim(value.substr(0, end));
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
