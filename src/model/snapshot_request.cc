#include "model/snapshot_request.h"

#include <algorithm>

#include "base/ascii.h"

namespace cay {
namespace {

constexpr std::size_t kLongestReferencePart = 128;
constexpr std::string_view kHub = "docker.io";
constexpr std::string_view kHubLibrary = "library/";

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool all_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return alphanumeric(c) || others.find(c) != std::string_view::npos; });
}

// A first part with a dot or a port, or "localhost", is a registry.
bool is_registry(std::string_view part) {
  return part == "localhost" || part.find('.') != std::string_view::npos ||
         part.find(':') != std::string_view::npos;
}

}  // namespace

bool is_valid_snapshot_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestReferencePart && all_of(text, "._/-") &&
         alphanumeric(text.front()) && alphanumeric(text.back());
}

bool is_valid_tag(std::string_view text) {
  return !text.empty() && text.size() <= kLongestReferencePart && all_of(text, "._-") &&
         (alphanumeric(text.front()) || text.front() == '_');
}

std::optional<ImageReference> image_reference_from(std::string_view text) {
  constexpr std::size_t kLongest = 1024;
  if (text.empty() || text.size() > kLongest) return std::nullopt;
  ImageReference out;
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    out.digest = text.substr(at + 1);
    if (!all_of(out.digest, ":") || out.digest.find(':') == std::string::npos) return std::nullopt;
    text = text.substr(0, at);
  }
  const auto slash = text.rfind('/');
  const auto colon = text.rfind(':');
  const bool has_tag =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  if (has_tag) {
    out.tag = text.substr(colon + 1);
    if (!is_valid_tag(out.tag)) return std::nullopt;
    text = text.substr(0, colon);
  }
  out.registry = kHub;
  const auto first = text.find('/');
  if (first != std::string_view::npos && is_registry(text.substr(0, first))) {
    out.registry = lowered(std::string(text.substr(0, first)));
    text = text.substr(first + 1);
  }
  if (out.registry == "index.docker.io") out.registry = kHub;
  if (!is_valid_snapshot_name(text) || !all_of(out.registry, "._-:[]")) return std::nullopt;
  out.repository = text;
  if (out.registry == kHub && text.find('/') == std::string_view::npos)
    out.repository = std::string(kHubLibrary) + out.repository;
  return out;
}

std::string ImageReference::text() const {
  std::string out = registry + "/" + repository;
  if (!tag.empty()) out += ":" + tag;
  if (!digest.empty()) out += "@" + digest;
  if (tag.empty() && digest.empty()) out += ":" + std::string(kLatestTag);
  return out;
}

std::string ImageReference::snapshot_name() const {
  if (registry == kHub) {
    return repository.starts_with(kHubLibrary) ? repository.substr(kHubLibrary.size()) : repository;
  }
  std::string host;
  for (const char c : registry) {
    if (c == '[' || c == ']') continue;
    host += c == ':' ? '-' : c;
  }
  return host + "/" + repository;
}

}  // namespace cay
