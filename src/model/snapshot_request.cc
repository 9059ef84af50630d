#include "model/snapshot_request.h"

#include <algorithm>

#include "base/ascii.h"
#include "model/image_reference.h"

namespace cay {
namespace {

constexpr std::size_t kLongestReferencePart = 128;
constexpr std::string_view kHub = "docker.io";
constexpr std::string_view kHubLibrary = "library/";

bool alphanumeric(char c) { return is_letter(c) || is_digit(c); }

bool all_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return alphanumeric(c) || others.find(c) != std::string_view::npos; });
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
  auto read = read_image_reference(text);
  if (!read) return std::nullopt;
  return *std::move(read);
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
