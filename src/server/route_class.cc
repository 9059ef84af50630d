#include "server/route_class.h"

namespace cay::server {

std::string_view route_class(std::string_view pattern) {
  constexpr std::string_view kOne = "/api/v1/sandboxes/{ref}/";
  if (pattern.empty()) return "none";
  if (pattern == "/api/v1/events") return "events";
  if (pattern == "(service host)" || pattern.starts_with("/svc/") || pattern.starts_with("/dl/"))
    return "services";
  if (pattern.starts_with(kOne)) {
    const auto rest = pattern.substr(kOne.size());
    if (rest.starts_with("commands")) return "commands";
    return rest.starts_with("files") ? "files" : "sandboxes";
  }
  if (pattern.starts_with("/api/v1/sandboxes")) return "sandboxes";
  if (pattern == "/mcp") return "mcp";
  if (pattern.starts_with("/api/") || pattern == "/healthz" || pattern == "/readyz" ||
      pattern == "/metrics")
    return "daemon";
  return "langsmith";
}

}  // namespace cay::server
