#include "launcher/probe_snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launcher/default_snapshot_apt.h"
#include "launcher/default_snapshot_etc.h"
#include "launcher/default_snapshot_local.h"
#include "launcher/default_snapshot_tree.h"

namespace cay::launcher {
namespace {

using Feature = wire::FeatureMsg;

// Tried with a file that every system has there.
Feature links(int layers) {
  const std::string name = ".probe-" + std::to_string(::getpid());
  const bool ok = ::linkat(AT_FDCWD, "/usr/lib/os-release", layers, name.c_str(), 0) == 0;
  const int why = errno;
  if (ok) ::unlinkat(layers, name.c_str(), 0);
  Feature feature{"default snapshot", true, "hard links to the files of /usr", "", ""};
  if (ok) return feature;
  feature.found = why == EXDEV ? "/usr is on another file system than the data directory"
                               : "no links to /usr: " + std::string(std::strerror(why));
  feature.fallback = "its files are copied, once: takes space and a longer first start";
  return feature;
}

std::string joined(std::string list, const std::string& word, const char* between) {
  return list.empty() ? word : list + between + word;
}

// Looks for the programs that agents use most. Sandboxes have what the host has below /usr.
Feature programs(TreeWriter& host, bool with_local) {
  struct Program {
    const char *name, *path, *package;
  };
  constexpr Program kWanted[] = {
      {"python3", "usr/bin/python3", "python3"},
      {"pip", "usr/bin/pip3", "python3-pip"},
      {"venv", "usr/share/python-wheels", "python3-venv"},
      {"git", "usr/bin/git", "git"},
      {"node", "usr/bin/node", "nodejs"},
      {"npm", "usr/bin/npm", "npm"},
      {"gcc", "usr/bin/gcc", "build-essential"},
      {"make", "usr/bin/make", "build-essential"},
      {"curl", "usr/bin/curl", "curl"},
      {"sudo", "usr/bin/sudo", "sudo"},
  };
  Feature feature{"programs", true, "", "", ""};
  std::string lacking, packages;
  for (const Program& program : kWanted) {
    const std::string local = std::string("usr/local/bin/") + program.name;
    if (host.host_has(program.path) ||
        (with_local && host.host_has(local) && leads_out_of_local(host, program.name).empty())) {
      feature.found = joined(feature.found, program.name, ", ");
      continue;
    }
    lacking = joined(lacking, program.name, ", ");
    if ((" " + packages + " ").find(" " + std::string(program.package) + " ") ==
        std::string::npos) {
      packages = joined(packages, program.package, " ");
    }
  }
  if (feature.found.empty()) feature.found = "none of those that agents use most";
  if (lacking.empty()) return feature;
  feature.fallback = "sandboxes have no " + lacking + ", as the host has none";
  feature.remedy = host.host_has("usr/bin/apt-get") ? "apt-get install " + packages
                                                    : "install on the host: " + packages;
  feature.remedy += "; then restart the daemon, for new sandboxes";
  return feature;
}

// Reports how much of the admin's own programs sandboxes get.
Feature local(TreeWriter& host, const std::string& why_not) {
  Feature feature{"/usr/local", true, "in sandboxes as on the host", "", ""};
  if (why_not == "the host has none") {
    feature.found = why_not;
  } else if (!why_not.empty()) {
    feature.found = why_not;
    feature.fallback = "sandboxes have nothing of it";
    feature.remedy =
        "make /usr/local a directory on the file system of /usr that everybody may read; then "
        "restart the daemon";
  } else {
    std::string links;
    for (const std::string& name : host.host_names("usr/local/bin")) {
      const std::string target = leads_out_of_local(host, name);
      if (!target.empty()) links = joined(links, name + " (" + target + ")", ", ");
    }
    if (links.empty()) return feature;
    feature.fallback = "sandboxes lack what these links lead to: " + links;
    feature.remedy =
        "install it below /usr/local itself; then restart the daemon, for new sandboxes";
  }
  return feature;
}

Feature package_sources(TreeWriter& host) {
  const std::string sources = apt_sources(host.host_text("etc/os-release"), apt_files(host));
  if (names_a_mirror(sources)) return {"package sources", true, "the host's own mirror", "", ""};
  return {"package sources", true, "none of the host's that sandboxes may have",
          "apt-get inside has no server",
          "name the distribution's mirror in mirrors.apt, or in /etc/apt/sources.list, without a "
          "password; then restart the daemon"};
}

}  // namespace

std::vector<Feature> probe_snapshot(int layers, const std::string& host_root) {
  std::vector<Feature> features = {links(layers)};
  const UniqueFd root(::open(host_root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return features;
  TreeWriter host(root.get(), -1, [](const std::string&) {});
  const std::string why_not = why_no_local(root.get(), host);
  features.push_back(programs(host, why_not.empty()));
  features.push_back(local(host, why_not));
  if (host.host_has("usr/bin/apt-get")) features.push_back(package_sources(host));
  return features;
}

}  // namespace cay::launcher
