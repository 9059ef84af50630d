// Request targets: percent-decoding, once, and the split into segments.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cay::http {

enum class Plus { kSpace, kLiteral };

// nullopt: '%' without two hex digits, or a NUL.
std::optional<std::string> percent_decode(std::string_view text, Plus plus);

// Splits a path: "/a/b%2Fc" -> {"a", "b/c"}; "/" -> {}; "/a/" -> {"a", ""}. Segments are opaque:
// "..",
// "%2e%2e" and empty ones are not resolved, for nothing here maps them to files. Returns nullopt if
// the path does not begin with '/' or has bad escapes.
std::optional<std::vector<std::string>> split_path(std::string_view path);

struct TargetParts {
  std::string_view path;
  std::string_view query;      // without '?'
  std::string_view authority;  // of an absolute-form target ("http://host/path"), else empty
};
// nullopt: neither origin-form nor absolute-form of http/https. A fragment is refused.
std::optional<TargetParts> split_target(std::string_view target);

}  // namespace cay::http
