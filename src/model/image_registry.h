// ImageRegistry: named credentials for a registry of images.
#pragma once
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/ids.h"

namespace cay {

struct ImageRegistry {
  RegistryId id;
  TenantId tenant;
  std::string name;  // unique in the tenant
  std::string url;   // as it was given: "registry.example.com", "http://localhost:5000"
  std::string username{};
  std::string created_by;
  std::string updated_by;
  UnixMillis created_at = 0;
  UnixMillis updated_at = 0;
};

struct NewImageRegistry {
  std::string name;
  std::string url;
  std::string username{};
  std::string password{};
};

// Absent: as it is.
struct ImageRegistryChange {
  std::optional<std::string> name{};
  std::optional<std::string> url{};
  std::optional<std::string> username{};
  std::optional<std::string> password{};
};

}  // namespace cay
