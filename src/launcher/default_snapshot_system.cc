// The rest of the generated system: /var, homes, mount points, and what makes installs work.
#include <string>
#include <string_view>

#include "launcher/default_snapshot_build.h"
#include "launcher/default_snapshot_etc.h"
#include "launcher/default_snapshot_local.h"
#include "launcher/default_snapshot_packages.h"

namespace cay::launcher {
namespace {

constexpr uid_t kUser = 1000;
constexpr uid_t kApt = 42;  // _apt of Debian: it downloads as this user

struct Dir {
  const char* path;
  mode_t mode;
  uid_t uid = 0;
  gid_t gid = 0;
};

constexpr Dir kTop[] = {
    {"proc", 0555}, {"sys", 0555},  {"dev", 0755},  {"run", 0755},  // mount points
    {"tmp", 01777}, {"root", 0700}, {"home", 0755}, {"home/user", 0755, kUser, kUser},
    {"opt", 0755},  {"srv", 0755},  {"mnt", 0755},  {"media", 0755},
    {"boot", 0755},
};

constexpr Dir kVar[] = {
    {"var", 0755},
    {"var/backups", 0755},
    {"var/cache", 0755},
    {"var/cache/apt", 0755},
    {"var/cache/apt/archives", 0755},
    {"var/cache/apt/archives/partial", 0700, kApt, 0},
    {"var/cache/debconf", 0755},
    {"var/cache/fontconfig", 0755},
    {"var/cache/ldconfig", 0700},
    {"var/cache/man", 0755},
    {"var/lib", 0755},
    {"var/lib/apt", 0755},
    {"var/lib/apt/lists", 0755},
    {"var/lib/apt/lists/auxfiles", 0755},
    {"var/lib/apt/lists/partial", 0700, kApt, 0},
    {"var/lib/apt/mirrors", 0755},
    {"var/lib/apt/mirrors/partial", 0755},
    {"var/lib/apt/periodic", 0755},
    {"var/lib/dpkg", 0755},
    {"var/lib/dpkg/parts", 0755},
    {"var/lib/dpkg/updates", 0755},
    {"var/lib/dpkg/info", 0755},
    {"var/lib/misc", 0755},
    {"var/lib/pam", 0755},
    {"var/lib/systemd", 0755},
    {"var/lib/ucf", 0755},
    {"var/local", 02775, 0, 50},
    {"var/log", 0755},
    {"var/log/apt", 0755},
    {"var/mail", 02775, 0, 8},
    {"var/opt", 0755},
    {"var/spool", 0755},
    {"var/tmp", 01777},
};

// Files of packages whose writers replace them by rename, never in place: links are as good as
// copies.
constexpr const char* kLinkedState[] = {"var/lib/texmf"};
constexpr const char* kCopiedState[] = {
    "var/lib/sgml-base", "var/lib/xml-core",  // catalogs that /etc/sgml and /etc/xml point to
};

Result<void> write_homes(TreeWriter& tree) {
  struct Dotfile {
    const char *name, *from, *fallback;
  };
  const Dotfile of_root[] = {{".bashrc", "usr/share/base-files/dot.bashrc", "etc/skel/.bashrc"},
                             {".profile", "usr/share/base-files/dot.profile", "etc/skel/.profile"}};
  for (const Dotfile& file : of_root) {
    std::string text = tree.host_text(file.from);
    if (text.empty()) text = tree.host_text(file.fallback);
    CAY_CHECK(tree.make_file("root/" + std::string(file.name), text));
  }
  for (const char* name : {".bashrc", ".profile", ".bash_logout"}) {
    const std::string text = tree.host_text("etc/skel/" + std::string(name));
    CAY_CHECK(tree.make_file("etc/skel/" + std::string(name), text));
    CAY_CHECK(tree.make_file("home/user/" + std::string(name), text, 0644, kUser, kUser));
  }
  return {};
}

// Programs call them without a version. `prefix` is "usr" or "usr/local".
Result<void> write_python(TreeWriter& tree, const std::string& prefix) {
  const std::string bin = prefix + "/bin/";
  if (!tree.has(bin + "python3")) return {};
  if (!tree.has(bin + "python")) {
    CAY_CHECK(tree.make_link(bin + "python", "python3"));
  }
  if (tree.has(bin + "pip")) return {};
  if (tree.has(bin + "pip3")) return tree.make_link(bin + "pip", "pip3");
  if (!tree.has(prefix + "/lib/python3/dist-packages/pip")) return {};
  return tree.make_file(bin + "pip", "#!/bin/sh\nexec python3 -m pip \"$@\"\n", 0755);
}

// Cargo has no settings for all users, but looks for some in every directory above the one it works
// in. A sparse index ends with a slash.
Result<void> write_cargo(TreeWriter& tree, std::string index) {
  if (index.empty()) return {};
  if (!index.ends_with('/')) index += '/';
  CAY_CHECK(tree.make_dir(".cargo", 0755));
  return tree.make_file(
      ".cargo/config.toml",
      "[source.crates-io]\nreplace-with = \"mirror\"\n\n[source.mirror]\nregistry = \"sparse+" +
          index + "\"\n");
}

// Writes Go's settings for every user. Modules that the mirror lacks come from their origin, as
// without a mirror.
Result<void> write_go(TreeWriter& tree, const std::string& proxy) {
  if (proxy.empty()) return {};
  struct Home {
    const char* path;
    uid_t owner;
  };
  for (const Home& home : {Home{"root", 0}, Home{"home/user", kUser}, Home{"etc/skel", 0}}) {
    const std::string config = std::string(home.path) + "/.config";
    for (const std::string& dir : {config, config + "/go"}) {
      CAY_CHECK(tree.make_dir(dir, 0755, home.owner, home.owner));
    }
    CAY_CHECK(tree.make_file(config + "/go/env", "GOPROXY=" + proxy + ",direct\n", 0644, home.owner,
                             home.owner));
  }
  return {};
}

// pip ignores an index in the clear that it does not trust (pip.conf(5), trusted-host). An operator
// who names one trusts it.
std::string pip_trust(std::string_view index) {
  constexpr std::string_view kClear = "http://";
  if (!index.starts_with(kClear)) return "";
  index.remove_prefix(kClear.size());
  return "trusted-host = " + std::string(index.substr(0, index.find('/'))) + "\n";
}

// Writes the sources of package managers, for every user inside.
Result<void> write_package_tools(TreeWriter& tree, const wire::PrepareDefault& with) {
  constexpr const char* kBundle = "/etc/ssl/certs/ca-certificates.crt";
  std::string pip = "[global]\ndisable-pip-version-check = true\n";
  // By default npm retries after 10 and 60 s before it reports that a name is refused. Here after
  // 1, 3 and 9.
  std::string npm =
      "update-notifier=false\nfetch-retries=3\nfetch-retry-mintimeout=1000\nfetch-retry-factor=3\n";
  if (!with.pip_index.empty())
    pip += "index-url = " + with.pip_index + "\n" + pip_trust(with.pip_index);
  if (!with.npm_registry.empty()) npm += "registry=" + with.npm_registry + "\n";
  if (with.host_authorities) {
    pip += std::string("cert = ") + kBundle + "\n";
    npm += std::string("cafile=") + kBundle + "\n";
  }
  CAY_CHECK(tree.make_file("etc/pip.conf", pip + "[install]\nroot-user-action = ignore\n"));
  CAY_CHECK(tree.make_dir("usr/etc", 0755));
  CAY_CHECK(tree.make_file("usr/etc/npmrc", npm));
  // npm reads the one that lies beside it.
  if (tree.has("usr/local/bin/npm")) {
    CAY_CHECK(tree.make_file("usr/local/etc/npmrc", npm));
  }
  CAY_CHECK(write_cargo(tree, with.cargo_index));
  return write_go(tree, with.go_proxy);
}

}  // namespace

Result<void> write_system(TreeWriter& tree, const wire::PrepareDefault& with,
                          const Progress& progress) {
  for (const Dir& dir : kTop) {
    CAY_CHECK(tree.make_dir(dir.path, dir.mode, dir.uid, dir.gid));
  }
  for (const Dir& dir : kVar) {
    CAY_CHECK(tree.make_dir(dir.path, dir.mode, dir.uid, dir.gid));
  }
  CAY_CHECK(tree.make_link("var/run", "/run"));
  CAY_CHECK(tree.make_link("var/lock", "/run/lock"));
  CAY_CHECK(write_local(tree));
  CAY_CHECK(write_build_programs(tree));
  CAY_CHECK(write_etc(tree, with));
  CAY_CHECK(write_package_tools(tree, with));
  for (const char* path : kLinkedState) {
    CAY_CHECK(tree.link_tree(path));
  }
  for (const char* path : kCopiedState) {
    CAY_CHECK(tree.copy_tree(path));
  }
  CAY_CHECK(write_homes(tree));
  for (const char* prefix : {"usr", "usr/local"}) {
    CAY_CHECK(write_python(tree, prefix));
  }
  // No service manager runs inside: package scripts must not try to start services.
  if (tree.has("usr/sbin")) {
    CAY_CHECK(tree.make_file("usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0755));
  }
  return write_packages(tree, progress);
}

}  // namespace cay::launcher
