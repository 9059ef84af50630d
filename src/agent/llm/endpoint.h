// Endpoint: the server, the model and the key that settings and the environment name.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "agent/llm/model.h"

namespace cay::agent {

enum class Vendor : std::uint8_t { kOpenAi, kOpenAiResponses, kAnthropic };

struct Endpoint {
  Vendor vendor = Vendor::kOpenAi;
  std::string base_url;  // without a slash at its end
  std::string key;       // empty: no key is sent
  std::string model;     // empty: the only one that the server offers

  std::string name() const;  // "openai:gpt-4.1"
};

// Returns a variable of the environment, if it is set and not empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Fails kInvalidArgument (model_unknown) and kUnauthenticated (model_key_missing).
Result<Endpoint> endpoint_of(const ModelSettings& settings, const Environment& environment);

// The variables that hold a vendor's settings: "OPENAI_API_KEY".
std::string variable_of(Vendor vendor, const char* setting);

}  // namespace cay::agent
