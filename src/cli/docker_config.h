// The logins that `docker login` keeps for this user, for the registries of images.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cay/types.h"

namespace cay::cli {

// Runs `docker-credential-NAME get` for `server` and returns what it printed.
using CredentialHelper =
    std::function<Result<std::string>(const std::string& name, const std::string& server)>;

// Docker's config.json: the members that name logins.
class DockerConfig {
 public:
  static Result<DockerConfig> parse(std::string_view text);

  // Returns the login for a registry's host, as docker would send it. The registry's own helper
  // comes first, then the helper for all, then the file. Empty: none is kept. Fails if a helper
  // does.
  Result<sdk::RegistryLogin> login_for(const std::string& host,
                                       const CredentialHelper& helper) const;

 private:
  std::map<std::string, sdk::RegistryLogin> logins_;  // by the key in the file
  std::map<std::string, std::string> helpers_;        // by host
  std::string helper_;                                // for all other hosts; empty: none
};

// The host of the registry in an image's name: "docker.io" if it names none.
std::string registry_of(std::string_view image);

// The user's login for the registry of `image`, from $DOCKER_CONFIG/config.json or
// ~/.docker/config.json. If it cannot be read, this prints a warning and returns none, since an
// image may need no login.
sdk::RegistryLogin login_of_user(const std::string& image);

}  // namespace cay::cli
