#include "model/image_reference.h"

#include <string>

#include "base/ascii.h"

namespace cay {
namespace {

constexpr std::size_t kMostName = 255;
constexpr std::size_t kMostTag = 128;
constexpr std::size_t kMostShown = 200;
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kAlphanumeric =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool is_of(std::string_view text, std::string_view some, std::string_view more) {
  for (const char c : text) {
    if (some.find(c) == std::string_view::npos && more.find(c) == std::string_view::npos)
      return false;
  }
  return true;
}

// One part of a repository's path.
bool is_part(std::string_view part) {
  return !part.empty() && is_of(part, kLower, "._-") && is_of(part.substr(0, 1), kLower, "") &&
         is_of(part.substr(part.size() - 1), kLower, "") &&
         part.find("..") == std::string_view::npos;
}

bool is_repository(std::string_view path) {
  for (;;) {
    const auto slash = path.find('/');
    if (!is_part(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool is_port(std::string_view text) {
  constexpr std::size_t kDigits = 5;
  return !text.empty() && text.size() <= kDigits && is_of(text, "0123456789", "") &&
         std::stoul(std::string(text)) <= 0xffff && text != "0";
}

bool is_host(std::string_view text) {
  std::string_view host = text;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    return is_of(host, "0123456789abcdefABCDEF", ":.") &&
           (rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1))));
  }
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    if (!is_port(text.substr(colon + 1))) return false;
  }
  return !host.empty() && is_of(host, kAlphanumeric, ".-") &&
         is_of(host.substr(0, 1), kAlphanumeric, "") &&
         is_of(host.substr(host.size() - 1), kAlphanumeric, "");
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kMostTag && is_of(text, kAlphanumeric, "_.-") &&
         is_of(text.substr(0, 1), kAlphanumeric, "_");
}

// Whether the first part of a path is a registry, and not of the path.
bool names_registry(std::string_view part) {
  return part == "localhost" || part.find_first_of(".:[") != std::string_view::npos;
}

}  // namespace

bool is_image_digest(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  constexpr std::size_t kDigits = 64;
  return text.starts_with(kAlgorithm) && text.size() == kAlgorithm.size() + kDigits &&
         is_of(text.substr(kAlgorithm.size()), "0123456789abcdef", "");
}

Result<ImageReference> read_image_reference(std::string_view text) {
  const auto bad = [&](const char* reason, const char* why) {
    const bool can_be_shown = text.find_first_not_of(
                                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-:/@[]+ ") == std::string_view::npos;
    return Error{Code::kInvalidArgument, reason,
                 (can_be_shown ? "'" + std::string(text.substr(0, kMostShown)) + "'"
                               : std::string("the text")) +
                     " is no name of an image: " + why +
                     ". Names are like python:3.12 or "
                     "registry.example/team/image@sha256:...",
                 0};
  };
  ImageReference out;
  std::string_view rest = text;
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    out.digest = std::string(rest.substr(at + 1));
    if (!is_image_digest(out.digest)) return bad("bad_reference", "its digest is not sha256:...");
    rest = rest.substr(0, at);
  }
  const auto slash = rest.rfind('/');
  const auto colon = rest.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    out.tag = std::string(rest.substr(colon + 1));
    if (!is_tag(out.tag)) return bad("bad_reference", "its tag is empty, too long or misspelt");
    rest = rest.substr(0, colon);
  }
  const auto first = rest.find('/');
  if (first != std::string_view::npos && names_registry(rest.substr(0, first))) {
    out.registry = lowered(std::string(rest.substr(0, first)));
    rest.remove_prefix(first + 1);
    if (!is_host(out.registry)) return bad("bad_reference", "its registry is no host");
    if (out.registry == "index.docker.io" || out.registry == "registry-1.docker.io")
      out.registry = "docker.io";
  } else {
    out.registry = "docker.io";
  }
  if (!is_repository(rest))
    return bad("bad_reference", "its path has other characters than a-z, 0-9, '.', '_' and '-'");
  out.repository = std::string(rest);
  if (out.registry == "docker.io" && first == std::string_view::npos)
    out.repository = "library/" + out.repository;
  if (out.registry == "docker.io" && out.repository.find('/') == std::string::npos)
    out.repository = "library/" + out.repository;
  // The normal form is an image's name, too.
  if (out.repository.size() > kMostName) return bad("bad_reference", "it is too long");
  return out;
}

}  // namespace cay
