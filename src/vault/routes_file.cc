#include "vault/routes_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/exact_file.h"
#include "os/file.h"
#include "wire/routes_file.h"

namespace cay::vault {
namespace {

constexpr mode_t kMode = 0644;  // the directory lets in nobody but the gate's group

Error not_in_force(const std::string& why) {
  return {Code::kUnavailable, "policy_not_in_force",
          "the proxy rules cannot be written for the gate: " + why, 0};
}

}  // namespace

Result<bool> write_routes(const std::string& data, const wire::BrokerRoutes& routes) {
  const auto directory = os::open_dir(AT_FDCWD, data + "/rules");
  const bool none = !routes.base_url && routes.hosts.empty() && routes.fences.empty();
  if (!directory && none && directory.error().os_errno == ENOENT) return false;
  if (!directory) return not_in_force("no gate has begun here yet");
  const std::string name = routes.sandbox_id + wire::kRoutesSuffix;
  if (none) {
    if (::unlinkat(directory->get(), name.c_str(), 0) == 0) return true;
    if (errno == ENOENT) return false;
    return not_in_force(Error::from_errno(errno, "remove " + name).message);
  }
  const std::string bytes = wire::encode(wire::WrittenRoutes{routes, true});
  const auto old = os::read_file(directory->get(), name, wire::kMostVaultFrame);
  if (old && *old == bytes) return false;
  const auto done = os::replace_file_exactly(directory->get(), name, bytes, kMode);
  if (!done) return not_in_force(done.error().message);
  return true;
}

std::vector<std::string> routes_written(const std::string& data) {
  std::vector<std::string> out;
  const auto directory = os::open_dir(AT_FDCWD, data + "/rules");
  if (!directory) return out;
  const auto names = os::list_dir(directory->get());
  if (!names) return out;
  const std::string suffix = wire::kRoutesSuffix;
  for (const std::string& name : *names) {
    if (name.ends_with(suffix)) out.push_back(name.substr(0, name.size() - suffix.size()));
  }
  return out;
}

}  // namespace cay::vault
