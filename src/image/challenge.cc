#include "image/challenge.h"

#include "base/ascii.h"

namespace cay::image {
namespace {

void skip(std::string_view& text, std::string_view characters) {
  const auto at = text.find_first_not_of(characters);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at);
}

std::string word(std::string_view& text) {
  const auto end = text.find_first_of(" \t,=");
  std::string out(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  return out;
}

// A token, or a quoted string. false: its end is missing.
bool value(std::string_view& text, std::string& out) {
  if (!text.starts_with('"')) {
    out = word(text);
    return true;
  }
  text.remove_prefix(1);
  while (!text.empty()) {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return true;
    if (c == '\\') {
      if (text.empty()) return false;
      c = text.front();
      text.remove_prefix(1);
    }
    out += c;
  }
  return false;
}

}  // namespace

Challenge parse_challenge(std::string_view header) {
  constexpr std::string_view kSpace = " \t";
  skip(header, kSpace);
  const std::string scheme = word(header);
  Challenge out;
  if (equals_ignoring_case(scheme, "basic")) out.scheme = Challenge::Scheme::kBasic;
  if (equals_ignoring_case(scheme, "bearer")) out.scheme = Challenge::Scheme::kBearer;
  for (;;) {
    skip(header, " \t,");
    if (header.empty()) break;
    const std::string name = word(header);
    skip(header, kSpace);
    // A word without a value is the scheme of the next challenge: the first one counts.
    if (!header.starts_with('=')) break;
    header.remove_prefix(1);
    skip(header, kSpace);
    std::string text;
    if (name.empty() || !value(header, text)) return {};
    if (equals_ignoring_case(name, "realm")) out.realm = std::move(text);
    if (equals_ignoring_case(name, "service")) out.service = std::move(text);
    if (equals_ignoring_case(name, "scope")) out.scope = std::move(text);
  }
  if (out.scheme == Challenge::Scheme::kBearer && out.realm.empty()) return {};
  return out;
}

}  // namespace cay::image
