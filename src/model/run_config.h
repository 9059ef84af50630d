// RunConfig: the user, directory and environment that commands start with.
#pragma once
#include <map>
#include <optional>
#include <string>

namespace cay {

// The user, directory and environment of a command. Layers (image < snapshot < sandbox < command):
// user and workdir replace, env merges key by key.
struct RunConfig {
  std::optional<std::string> user;     // name, uid, name:group or uid:gid
  std::optional<std::string> workdir;  // absolute
  std::map<std::string, std::string> env;
  bool operator==(const RunConfig&) const = default;
};
RunConfig layered(const RunConfig& below, const RunConfig& above);

}  // namespace cay
