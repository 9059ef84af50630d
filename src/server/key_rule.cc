#include "server/key_rule.h"

#include <openssl/evp.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/ascii.h"

namespace cay::server {
namespace {

using Form = http::KeyPlace::Form;

std::string_view scheme_of(Form form) {
  switch (form) {
    case Form::kBare: return "";
    case Form::kBearer: return "Bearer ";
    case Form::kBasicPassword: return "Basic ";
  }
  return "";
}

// Returns what is behind the first colon of "user:password" in base64 (RFC 7617).
std::optional<std::string> password_of(std::string_view encoded) {
  constexpr std::size_t kGroup = 4, kBytes = 3;
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto digits = std::min(encoded.find('='), encoded.size());
  const auto padding = encoded.substr(digits);
  const bool proper =
      encoded.size() % kGroup == 0 && padding.size() < kBytes &&
      padding.find_first_not_of('=') == std::string_view::npos &&
      encoded.substr(0, digits).find_first_not_of(kDigits) == std::string_view::npos;
  if (!proper) return std::nullopt;
  const std::vector<unsigned char> in(encoded.begin(), encoded.end());
  std::vector<unsigned char> out(encoded.size() / kGroup * kBytes + 1);
  if (EVP_DecodeBlock(out.data(), in.data(), static_cast<int>(in.size())) < 0) return std::nullopt;
  const std::string text(
      out.begin(),
      out.begin() + static_cast<std::ptrdiff_t>(encoded.size() / kGroup * kBytes - padding.size()));
  const auto colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  return text.substr(colon + 1);
}

std::optional<std::string> key_in(std::string_view value, Form form) {
  const std::string_view scheme = scheme_of(form);
  if (value.size() <= scheme.size() ||
      !equals_ignoring_case(value.substr(0, scheme.size()), scheme)) {
    return std::nullopt;
  }
  value.remove_prefix(scheme.size());
  if (form == Form::kBasicPassword) return password_of(value);
  return std::string(value);
}

std::optional<std::string> key_at(const http::RequestHead& head, const http::KeyPlace& place) {
  const auto value = head.headers.get(place.header);
  auto key = value ? key_in(*value, place.form) : std::nullopt;
  return key && !key->empty() ? key : std::nullopt;
}

}  // namespace

const http::KeyRule& own_key_rule() {
  static const http::KeyRule rule{{{"X-Api-Key"}, {"Authorization", Form::kBearer}},
                                  "Bearer realm=\"cay\""};
  return rule;
}

const http::KeyRule& key_rule_of(const http::Facade& facade) {
  return facade.key ? *facade.key : own_key_rule();
}

std::optional<std::string> key_of(const http::RequestHead& head, const http::KeyRule& rule) {
  for (const auto& place : rule.places) {
    if (auto key = key_at(head, place)) return key;
  }
  return std::nullopt;
}

bool shows_key_by_itself(const http::RequestHead& head, const http::KeyRule& rule) {
  return std::ranges::any_of(rule.places, [&head](const http::KeyPlace& place) {
    return place.form != Form::kBasicPassword && key_at(head, place);
  });
}

std::string how_to_send(const http::KeyRule& rule) {
  std::string out;
  for (const auto& [header, form] : rule.places) {
    out += (out.empty() ? "send it as " : " or as ") + header;
    if (form == Form::kBearer) out += ": Bearer";
    if (form == Form::kBasicPassword) out += ": Basic, as the password";
  }
  return out;
}

}  // namespace cay::server
