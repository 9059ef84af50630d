#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

constexpr const char* kVersion = CAY_VERSION;

bool exists(const char* path) { return ::access(path, F_OK) == 0; }

std::string content_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

sdk::Feature kernel_version() {
  utsname name{};
  ::uname(&name);
  int major = 0, minor = 0;
  char dot = 0;
  std::istringstream(name.release) >> major >> dot >> minor;
  const bool ok = major > 6 || (major == 6 && minor >= 1);
  return {"kernel", ok, name.release, ok ? "" : "untried below 6.1",
          ok ? "" : "boot Linux 6.1 or newer"};
}

sdk::Feature cgroups() {
  if (exists("/sys/fs/cgroup/cgroup.controllers"))
    return {"cgroups", true, "v2 at /sys/fs/cgroup", "", ""};
  if (exists("/sys/fs/cgroup/memory") || exists("/sys/fs/cgroup/unified"))
    return {"cgroups", true, "v1 or hybrid at /sys/fs/cgroup", "", ""};
  return {"cgroups", false, "nothing at /sys/fs/cgroup", "limits cannot be enforced",
          "mount -t cgroup2 none /sys/fs/cgroup"};
}

sdk::Feature user_namespaces() {
  const std::string most = content_of("/proc/sys/user/max_user_namespaces");
  const bool ok = exists("/proc/self/ns/user") && most != "0\n";
  return {"user namespaces", ok, ok ? "allowed" : "switched off",
          ok ? "" : "no sandbox can be made", ok ? "" : "sysctl -w user.max_user_namespaces=65536"};
}

// A module that is there is loaded when the launcher first needs it.
sdk::Feature filesystem(const std::string& name, const std::string& lost) {
  if (content_of("/proc/filesystems").find("\t" + name + "\n") != std::string::npos)
    return {name, true, "in the kernel", "", ""};
  utsname kernel{};
  ::uname(&kernel);
  const std::string modules = std::string("/lib/modules/") + kernel.release + "/modules.dep";
  if (content_of(modules.c_str()).find("/" + name + ".ko") != std::string::npos)
    return {name, true, "a module, loaded when needed", "", ""};
  return {name, false, "missing", lost, "modprobe " + name};
}

sdk::Feature root() {
  const bool ok = ::geteuid() == 0;
  return {"root", ok, "uid " + std::to_string(::geteuid()),
          ok ? "" : "the launcher needs it; the daemon does not",
          ok ? "" : "sudo cay launcher --data DIR --daemon-uid $(id -u) --detach"};
}

// Returns what can be seen without the daemon, which knows more, since it probes.
std::vector<sdk::Feature> local_features() {
  return {kernel_version(),
          cgroups(),
          user_namespaces(),
          filesystem("overlay", "no sandbox can be made"),
          filesystem("btrfs", "disk limits are not enforced"),
          root()};
}

// Keeps those of these names, and returns the exit code. Without names it keeps all.
int keep_named(std::vector<sdk::Feature>& features, const std::vector<std::string>& names) {
  if (names.empty()) return kOk;
  std::vector<sdk::Feature> out;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(features, name, &sdk::Feature::name);
    if (found == features.end())
      throw ApiError(ErrorCode::kNotFound, "feature_not_found",
                     "there is no feature '" + name + "': `cay doctor` lists them");
    out.push_back(*found);
  }
  features = std::move(out);
  return std::ranges::all_of(features, &sdk::Feature::ok) ? kOk : kMissing;
}

int doctor_command(Context& at, const DoctorArgs& args) {
  std::vector<sdk::Feature> features;
  bool daemon = true;
  std::string why;
  try {
    features = at.client.doctor();
  } catch (const ApiError& error) {
    daemon = false;
    why = error.what();
    features = local_features();
  }
  const int code = keep_named(features, args.names);
  if (at.json) {
    print(features_json(features, daemon));
    return code;
  }
  if (!daemon) print("The daemon cannot be reached: " + why + ".\nWhat can be seen from here:\n\n");
  print(doctor_table(features));
  return code;
}

// Uses no daemon: it prints the settings that every other command uses.
int env_command(Context& at, const EnvArgs& /*args*/) {
  const auto found = sdk::ClientOptions::from_environment();
  if (found.api_key.empty())
    throw ApiError(ErrorCode::kUnauthenticated, "no_key", found.key_problem);
  std::vector<std::pair<std::string, std::string>> set{{"CAY_URL", found.url},
                                                       {"CAY_API_KEY", found.api_key}};
  if (!found.ca_file.empty()) set.emplace_back("CAY_CA_FILE", found.ca_file);
  set.emplace_back("LANGSMITH_ENDPOINT", found.url);
  set.emplace_back("LANGSMITH_API_KEY", found.api_key);
  set.emplace_back("DAYTONA_API_URL", found.url + "/daytona");
  set.emplace_back("DAYTONA_API_KEY", found.api_key);
  if (at.json) {
    print(json_object(set));
    return kOk;
  }
  for (const auto& [name, value] : set) print("export " + name + "=" + shell_quoted(value) + "\n");
  return kOk;
}

int version_command(Context& at, const VersionArgs& /*args*/) {
  std::string daemon, why;
  try {
    daemon = at.client.version().version;
  } catch (const ApiError& error) {
    why = error.what();
  }
  if (at.json) {
    print(json_object({{"client", kVersion}, {"daemon", daemon}}));
    return kOk;
  }
  print("cay " + std::string(kVersion) + "\n" +
        (why.empty() ? "daemon " + daemon : "daemon: " + why) + "\n");
  return kOk;
}

}  // namespace

Command doctor_entry() {
  const auto args = std::make_shared<DoctorArgs>();
  return {.name = "doctor",
          .help = "What this host offers, what is missing, and what mends it",
          .examples =
              "  cay doctor\n  cay doctor --json\n"
              "  cay doctor kernel                         one of them; exit code 1 if it is "
              "missing\n",
          .group = kHostGroup,
          .options =
              [args](Options& to) {
                to.arguments("FEATURE", args->names, "These alone (default: all)");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(doctor_command)};
}

Command version_entry() {
  return {.name = "version",
          .help = "Versions of this program and of the daemon",
          .examples = "  cay version\n",
          .group = kHostGroup,
          .args = [](const Line&) -> std::any { return VersionArgs{}; },
          .run = runs(version_command)};
}

Command env_entry() {
  return {
      .name = "env",
      .help = "Print where the daemon is and the key, for a shell and other clouds' clients",
      .examples =
          "  eval \"$(cay env)\" && python3 agent.py\n\n"
          "Sets CAY_URL, CAY_API_KEY, LANGSMITH_ENDPOINT, LANGSMITH_API_KEY, DAYTONA_API_URL and "
          "DAYTONA_API_KEY to what this command line uses itself.\n",
      .group = kHostGroup,
      .args = [](const Line&) -> std::any { return EnvArgs{}; },
      .run = runs(env_command)};
}

}  // namespace cay::cli
