#include "agent/llm/endpoint.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/ip_address.h"

namespace cay::agent {
namespace {

constexpr std::uint8_t kLoopback = 127;  // the first byte of such addresses
constexpr std::string_view kNoKey = "none";
constexpr const char* kKey = "API_KEY";
constexpr const char* kUrl = "BASE_URL";
constexpr const char* kModel = "MODEL";

constexpr std::array<std::pair<std::string_view, Vendor>, 3> kPrefixes{{
    {"openai:", Vendor::kOpenAi},
    {"openai-responses:", Vendor::kOpenAiResponses},
    {"anthropic:", Vendor::kAnthropic},
}};

std::string own_url(Vendor vendor) {
  return vendor == Vendor::kAnthropic ? "https://api.anthropic.com" : "https://api.openai.com/v1";
}

std::string_view prefix_of(Vendor vendor) {
  return kPrefixes.at(static_cast<std::size_t>(vendor)).first;
}

// Whether the URL's host is this machine.
bool is_loopback(std::string_view url) {
  if (url.starts_with("unix://")) return true;
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return false;
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find('/'));
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  if (host == "localhost") return true;
  const auto address = IpAddress::parse(host);
  if (!address) return false;
  return address->is_v4() ? address->v4_bytes().front() == kLoopback : address->text() == "::1";
}

struct Named {
  std::optional<Vendor> vendor;
  std::string model;
};

// Other text before a colon belongs to the name: "qwen3:8b".
Named named_by(const std::string& text) {
  for (const auto& [prefix, vendor] : kPrefixes) {
    if (text.starts_with(prefix)) return {vendor, text.substr(prefix.size())};
  }
  return {std::nullopt, text};
}

// The vendor whose settings the environment has. If it has both, a name that begins with "claude"
// means Anthropic, and any other name OpenAI.
std::optional<Vendor> found_in(const Environment& environment, const std::string& model) {
  const auto has = [&](Vendor vendor) {
    return environment(variable_of(vendor, kKey)) || environment(variable_of(vendor, kUrl));
  };
  const bool openai = has(Vendor::kOpenAi);
  const bool anthropic = has(Vendor::kAnthropic);
  if (openai && anthropic) {
    const bool is_named = model.empty() && environment(variable_of(Vendor::kAnthropic, kModel)) &&
                          !environment(variable_of(Vendor::kOpenAi, kModel));
    return is_named || model.starts_with("claude") ? Vendor::kAnthropic : Vendor::kOpenAi;
  }
  if (openai) return Vendor::kOpenAi;
  if (anthropic) return Vendor::kAnthropic;
  return std::nullopt;
}

}  // namespace

std::string variable_of(Vendor vendor, const char* setting) {
  return std::string(vendor == Vendor::kAnthropic ? "ANTHROPIC_" : "OPENAI_") + setting;
}

std::string Endpoint::name() const { return std::string(prefix_of(vendor)) + model; }

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

Result<Endpoint> endpoint_of(const ModelSettings& settings, const Environment& environment) {
  const Named named = named_by(settings.model);
  auto vendor = named.vendor ? named.vendor : found_in(environment, named.model);
  if (!vendor && (!settings.base_url.empty() || !settings.api_key.empty()))
    vendor = named.model.starts_with("claude") ? Vendor::kAnthropic : Vendor::kOpenAi;
  if (!vendor) {
    return Error{Code::kUnauthenticated, "model_key_missing",
                 "no model is set up: set OPENAI_API_KEY (with OPENAI_BASE_URL for a server that "
                 "speaks OpenAI's API) or ANTHROPIC_API_KEY",
                 0};
  }
  Endpoint out;
  out.vendor = *vendor;
  out.base_url = settings.base_url;
  if (out.base_url.empty())
    out.base_url = environment(variable_of(*vendor, kUrl)).value_or(own_url(*vendor));
  while (out.base_url.ends_with('/')) out.base_url.pop_back();
  out.key = settings.api_key;
  if (out.key.empty()) out.key = environment(variable_of(*vendor, kKey)).value_or("");
  out.key = std::string(trimmed(out.key, " \t\r\n"));
  if (std::ranges::any_of(out.key, [](char c) { return c <= ' ' || c > '~'; })) {
    return Error{Code::kUnauthenticated, "model_key_refused",
                 "the key for " + out.base_url + " has characters that no header can carry", 0};
  }
  if (out.key.empty() && !is_loopback(out.base_url)) {
    const std::string variable = variable_of(*vendor, kKey);
    return Error{Code::kUnauthenticated, "model_key_missing",
                 "no key for " + out.base_url + ": set " + variable + ". If the server wants no " +
                     "key, set " + variable + "=none. Another server is named by " +
                     variable_of(*vendor, kUrl),
                 0};
  }
  if (out.key == kNoKey) out.key.clear();
  out.model = named.model;
  if (out.model.empty()) out.model = environment(variable_of(*vendor, kModel)).value_or("");
  if (out.model.empty() && out.base_url == own_url(*vendor)) {
    return Error{Code::kInvalidArgument, "model_unknown",
                 "no model is named: set " + variable_of(*vendor, kModel) + ", or name one as " +
                     std::string(prefix_of(*vendor)) + "NAME",
                 0};
  }
  return out;
}

}  // namespace cay::agent
