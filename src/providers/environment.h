// Reads the environment for providers.
#pragma once
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace cay::providers {

// Returns the first of these variables that is set and not empty; "" if none is.
inline std::string first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace cay::providers
