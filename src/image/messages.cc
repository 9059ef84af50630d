#include "image/messages.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/relative_path.h"
#include "codec/utf8.h"
#include "image/digest.h"

namespace cay::image {
namespace {

Error bad_answer(const char* what) {
  return {Code::kInternal, "bad_answer",
          std::string("the image process sent ") + what + ": report it", 0};
}

wire::ImageConfigMsg config_message(const ImageConfig& config) {
  wire::ImageConfigMsg out;
  out.user = config.run.user.value_or("");
  out.workdir = config.run.workdir.value_or("");
  for (const auto& [name, value] : config.run.env) out.env.push_back(name + "=" + value);
  out.entrypoint = config.entrypoint;
  out.command = config.command;
  for (const auto& [name, value] : config.labels) out.labels.push_back(name + "=" + value);
  out.ports = config.ports;
  return out;
}

std::string clean(const std::string& text) {
  std::string out = codec::sanitised_utf8(text);
  std::erase(out, '\0');
  return out;
}

std::vector<std::string> clean(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& one : texts) out.push_back(clean(one));
  return out;
}

void split_into(std::map<std::string, std::string>& out, const std::vector<std::string>& lines) {
  for (const std::string& raw : lines) {
    const std::string line = clean(raw);
    const auto equals = line.find('=');
    if (equals != std::string::npos && equals > 0)
      out[line.substr(0, equals)] = line.substr(equals + 1);
  }
}

ImageConfig config_of(const wire::ImageConfigMsg& message) {
  ImageConfig out;
  if (!message.user.empty()) out.run.user = clean(message.user);
  if (message.workdir.starts_with('/')) out.run.workdir = clean(message.workdir);
  split_into(out.run.env, message.env);
  out.entrypoint = clean(message.entrypoint);
  out.command = clean(message.command);
  split_into(out.labels, message.labels);
  out.ports = clean(message.ports);
  return out;
}

bool is_below_root(const std::string& path) { return !path.empty() && is_plain_relative(path); }

}  // namespace

wire::PullImage message_of(const core::PullRequest& request) {
  return {request.reference,
          request.platform,
          request.login.username,
          request.login.password,
          request.login.identity_token,
          request.special_network,
          request.owner};
}

core::PullRequest request_of(wire::PullImage message) {
  return {
      std::move(message.reference),
      std::move(message.platform),
      {std::move(message.username), std::move(message.password), std::move(message.identity_token)},
      message.special_network,
      std::move(message.owner)};
}

wire::PushImage message_of(const core::PushRequest& request, std::size_t layers) {
  return {request.reference,
          request.login.username,
          request.login.password,
          request.login.identity_token,
          request.special_network,
          config_message(request.config),
          static_cast<std::uint32_t>(layers)};
}

core::PushRequest request_of(wire::PushImage message) {
  return {
      std::move(message.reference),
      {std::move(message.username), std::move(message.password), std::move(message.identity_token)},
      message.special_network,
      config_of(message.config)};
}

wire::ImageMsg message_of(const core::ImageFacts& facts) {
  wire::ImageMsg out{facts.name, facts.tag, facts.digest, config_message(facts.config), {}};
  for (const core::ImageLayer& layer : facts.layers)
    out.layers.push_back({layer.diff_id, layer.size});
  return out;
}

Result<core::ImageFacts> facts_of(wire::ImageMsg message) {
  core::ImageFacts out;
  out.name = clean(message.name);
  out.tag = clean(message.tag);
  out.digest = std::move(message.digest);
  if (!is_digest(out.digest)) return bad_answer("an image without a digest");
  out.config = config_of(message.config);
  for (wire::ImageLayerMsg& layer : message.layers) {
    if (!is_digest(layer.diff_id)) return bad_answer("a layer without a digest");
    out.layers.push_back({std::move(layer.diff_id), layer.size});
  }
  return out;
}

wire::LayerEntryMsg message_of(const core::LayerEntry& entry) {
  wire::LayerEntryMsg out;
  out.path = entry.path;
  out.kind = static_cast<std::uint8_t>(entry.kind);
  out.size = entry.size;
  out.mode = entry.mode;
  out.uid = entry.uid;
  out.gid = entry.gid;
  out.mtime_ns = entry.mtime_ns;
  out.target = entry.target;
  for (const auto& [name, value] : entry.xattrs) out.xattrs.push_back({name, value});
  return out;
}

Result<core::LayerEntry> entry_of(wire::LayerEntryMsg message) {
  constexpr auto kFirst = static_cast<std::uint8_t>(core::EntryKind::kFile);
  constexpr auto kLast = static_cast<std::uint8_t>(core::EntryKind::kOpaque);
  // The root itself has an empty path.
  const auto kind = static_cast<core::EntryKind>(message.kind);
  const bool is_root = message.path.empty() &&
                       (kind == core::EntryKind::kDirectory || kind == core::EntryKind::kOpaque);
  if (message.kind < kFirst || message.kind > kLast || !(is_root || is_below_root(message.path)))
    return bad_answer("a layer's entry that is none");
  core::LayerEntry out;
  out.kind = static_cast<core::EntryKind>(message.kind);
  out.path = std::move(message.path);
  out.size = out.kind == core::EntryKind::kFile ? message.size : 0;
  out.mode = message.mode & 07777;
  out.uid = message.uid;
  out.gid = message.gid;
  out.mtime_ns = message.mtime_ns;
  out.target = std::move(message.target);
  const bool is_link = out.kind == core::EntryKind::kHardLink;
  if (is_link && !is_below_root(out.target)) return bad_answer("a link that leads out");
  for (wire::XattrMsg& one : message.xattrs) out.xattrs[one.name] = std::move(one.value);
  return out;
}

wire::ErrorMsg message_of(const Error& error) {
  return {static_cast<std::uint32_t>(error.code), error.reason, error.message, error.os_errno};
}

Error error_of(wire::ErrorMsg message) {
  constexpr std::size_t kMostReason = 64, kMostMessage = 2000;
  const bool is_known = message.code >= static_cast<std::uint32_t>(Code::kInvalidArgument) &&
                        message.code <= static_cast<std::uint32_t>(Code::kInternal);
  const bool is_word = !message.reason.empty() && message.reason.size() <= kMostReason &&
                       std::all_of(message.reason.begin(), message.reason.end(),
                                   [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
  return {is_known ? static_cast<Code>(message.code) : Code::kInternal,
          is_word ? std::move(message.reason) : std::string("bad_answer"),
          clean(message.message.substr(0, kMostMessage)), static_cast<int>(message.os_errno)};
}

}  // namespace cay::image
