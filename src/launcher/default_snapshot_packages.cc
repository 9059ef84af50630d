#include "launcher/default_snapshot_packages.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/dpkg_database.h"
#include "launcher/md5.h"

namespace cay::launcher {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr const char* kInfo = "var/lib/dpkg/info";
constexpr const char* kTriggers = "var/lib/dpkg/triggers";
constexpr std::array<const char*, 5> kCopied = {"var/lib/dpkg/alternatives",
                                                "var/lib/dpkg/triggers", "var/lib/dpkg/diversions",
                                                "var/lib/dpkg/arch", "var/lib/dpkg/cmethopt"};
// More packages than these are never left out for the sake of one: whole desktops hang on some
// services.
constexpr std::ptrdiff_t kMostDependents = 16;

bool below(std::string_view path, std::string_view top) {
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

template <class Tops>
bool below_any(std::string_view path, const Tops& tops) {
  return std::ranges::any_of(tops, [path](std::string_view top) { return below(path, top); });
}

// These are as the host's trees are, or the sandbox's own.
bool is_filled_elsewhere(std::string_view path) {
  constexpr auto kTrees = std::to_array<std::string_view>(
      {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sys", "/dev",
       "/run", "/tmp", "/boot", "/var/cache", "/var/log", "/etc/apt/sources.list",
       "/etc/apt/sources.list.d", "/etc/apt/auth.conf", "/etc/apt/auth.conf.d"});
  return below_any(path, kTrees);
}

bool is_mounted_over(std::string_view path) {
  constexpr auto kMounts =
      std::to_array<std::string_view>({"/proc", "/sys", "/dev", "/run", "/tmp"});
  return below_any(path, kMounts) && std::ranges::find(kMounts, path) == kMounts.end();
}

bool starts_a_service(std::string_view path) {
  if (path.starts_with("/etc/init.d/")) return true;
  const std::string_view unit = path.starts_with("/usr") ? path.substr(4) : path;
  return unit.starts_with("/lib/systemd/system/") && unit.ends_with(".service");
}

// Packages keep there what cannot be made again, unlike caches and logs. The tree has certificates
// of its own.
bool keeps_state(std::string_view directory) {
  constexpr auto kState = std::to_array<std::string_view>(
      {"/etc", "/opt", "/srv", "/var/lib", "/var/mail", "/var/spool", "/var/www"});
  return below_any(directory, kState) && !below(directory, "/etc/ssl/certs");
}

bool is_backup(std::string_view name) {
  constexpr auto kEnds = std::to_array<std::string_view>(
      {"~", "-", ".bak", ".dpkg-dist", ".dpkg-new", ".dpkg-old", ".old", ".ucf-dist", ".ucf-old"});
  return name.starts_with('.') ||
         std::ranges::any_of(kEnds, [name](std::string_view end) { return name.ends_with(end); });
}

class Packages {
 public:
  Packages(TreeWriter& tree, const Progress& progress, std::string_view status)
      : tree_(tree), progress_(progress), database_(status) {}

  Result<void> write() {
    for (DpkgPackage& package : database_.packages) read_files(package);
    choose();
    Names skipped;
    for (std::size_t place = 0; place < database_.packages.size(); ++place) {
      if (!gone_[place]) continue;
      const DpkgPackage& package = database_.packages[place];
      skipped.insert(package.name);
      skipped.insert(package.name + ":" + package.architecture);
    }
    CAY_CHECK(tree_.link_tree(kInfo, [&skipped](std::string_view path) {
      const std::string_view file = path.substr(path.find_last_of('/') + 1);
      return skipped.contains(file.substr(0, file.find_last_of('.')));
    }));
    for (const char* path : kCopied) {
      CAY_CHECK(tree_.copy_tree(path));
    }
    std::string status;
    for (std::size_t place = 0; place < database_.packages.size(); ++place) {
      if (gone_[place]) continue;
      CAY_TRY(const std::string stanza, complete(database_.packages[place]));
      status += stanza;
    }
    CAY_CHECK(tree_.make_file("var/lib/dpkg/status", status));
    CAY_CHECK(write_triggers(skipped));
    return write_overrides();
  }

 private:
  static std::string info_of(const DpkgPackage& package, std::string_view kind,
                             bool with_architecture) {
    return std::string(kInfo) + "/" + package.name +
           (with_architecture ? ":" + package.architecture : "") + "." + std::string(kind);
  }

  std::string info_path(const DpkgPackage& package, std::string_view kind) {
    const std::string plain = info_of(package, kind, false);
    return tree_.host_has(plain) ? plain : info_of(package, kind, true);
  }

  void read_files(DpkgPackage& package) {
    if (!package.installed) return;
    each_line(tree_.host_text(info_path(package, "list")), [&](std::string_view line) {
      if (!line.starts_with('/') || line == "/.") return;
      package.files.emplace_back(line);
      listed_.insert(package.files.back());
    });
  }

  // Whether a directory of the package holds something on the host that no package ships and the
  // tree lacks. A directory that `others` has as well does not count.
  bool has_state_on_host(const DpkgPackage& package, const Names& others) {
    return std::ranges::any_of(package.files, [&](const std::string& path) {
      if (!keeps_state(path) || of_base_.contains(path) || others.contains(path)) return false;
      const auto names = tree_.host_names(path.substr(1));
      return std::ranges::any_of(names, [&](const std::string& name) {
        const std::string inside = path + "/" + name;
        return !is_backup(name) && !listed_.contains(inside) && !tree_.has(inside.substr(1));
      });
    });
  }

  bool makes_account(const DpkgPackage& package) {
    const std::string script = tree_.host_text(info_path(package, "postinst"));
    constexpr auto kMakers = std::to_array<std::string_view>({"adduser", "useradd", "sysusers"});
    return std::ranges::any_of(kMakers, [&script](std::string_view maker) {
      return script.find(maker) != std::string::npos;
    });
  }

  // Leaves `place` out, with what needs it, unless that takes too much.
  void leave_out(std::size_t place) {
    auto more = gone_;
    more[place] = true;
    more = database_.with_dependents(std::move(more));
    std::ptrdiff_t added = 0;
    for (std::size_t at = 0; at < more.size(); ++at) {
      if (!more[at] || gone_[at]) continue;
      if (database_.packages[at].base || ++added > kMostDependents) return;
    }
    gone_ = std::move(more);
  }

  // Marks the packages that stay out of the database. Their maintainer scripts made something on
  // the host that the tree lacks.
  void choose() {
    const auto& packages = database_.packages;
    gone_.assign(packages.size(), false);
    std::vector<std::size_t> services, others;
    for (std::size_t place = 0; place < packages.size(); ++place) {
      const DpkgPackage& package = packages[place];
      if (!package.installed) {
        gone_[place] = true;
      } else if (package.base) {
        of_base_.insert(package.files.begin(), package.files.end());
      } else if (std::ranges::any_of(package.files, starts_a_service)) {
        of_services_.insert(package.files.begin(), package.files.end());
        services.push_back(place);
      } else {
        others.push_back(place);
      }
    }
    const std::vector<bool> broken = gone_;
    for (const std::size_t place : services) {
      if (!gone_[place] &&
          (makes_account(packages[place]) || has_state_on_host(packages[place], {})))
        leave_out(place);
    }
    for (const std::size_t place : others) {
      if (!gone_[place] && has_state_on_host(packages[place], of_services_)) leave_out(place);
    }
    std::string names;
    for (std::size_t place = 0; place < packages.size(); ++place) {
      if (gone_[place] && !broken[place])
        names += (names.empty() ? "" : ", ") + packages[place].name;
    }
    if (!names.empty())
      progress_("not in its package database, for their services or state are the host's own: " +
                names);
  }

  uid_t owner(std::string_view accounts, uid_t id) {
    return id == 0 || accounts.find(":x:" + std::to_string(id) + ":") == std::string_view::npos
               ? 0
               : id;
  }

  // Makes what `package` ships at `path`, if its contents are the package's own. The name has no
  // leading slash.
  Result<void> fill_in(const DpkgPackage& package, const std::string& name,
                       std::string_view digest) {
    const auto entry = tree_.host_entry(name);
    const std::size_t slash = name.find_last_of('/');
    if (!entry || (slash != std::string::npos && !tree_.has(name.substr(0, slash)))) return {};
    const uid_t uid = owner(passwd_, entry->st_uid);
    const gid_t gid = owner(group_, entry->st_gid);
    if (S_ISDIR(entry->st_mode)) return tree_.make_dir(name, entry->st_mode & 07777, uid, gid);
    if (S_ISLNK(entry->st_mode)) return tree_.make_link(name, tree_.host_link(name));
    if (name.starts_with("opt/")) return tree_.link_tree(name);  // programs, as those of /usr
    const auto conffile = package.conffiles.find("/" + name);
    if (conffile != package.conffiles.end()) digest = conffile->second;
    if (!S_ISREG(entry->st_mode) || digest.empty()) return {};
    // Changed on the host, or closed to its users: not the sandbox's to see.
    const std::string text = tree_.host_text(name);
    if (md5_hex(text) != digest) return {};
    return tree_.make_file(name, text, entry->st_mode & 0777, uid, gid);
  }

  // Fills in what is missing of a package that stays, and returns its stanza without what is still
  // missing.
  Result<std::string> complete(const DpkgPackage& package) {
    Names absent;
    std::map<std::string, std::string, std::less<>> digests;
    bool read = false;
    const auto digest_of = [&](const std::string& name) -> std::string_view {
      if (!std::exchange(read, true)) {
        each_line(tree_.host_text(info_path(package, "md5sums")),
                  [&digests](std::string_view line) {
                    constexpr std::size_t kDigits = 32;
                    if (line.size() > kDigits + 2)
                      digests.emplace(line.substr(kDigits + 2), line.substr(0, kDigits));
                  });
      }
      const auto found = digests.find(name);
      return found == digests.end() ? std::string_view() : std::string_view(found->second);
    };
    for (const std::string& path : package.files) {
      const std::string name = path.substr(1);
      if (!is_mounted_over(path) && tree_.has(name)) continue;
      if (!is_filled_elsewhere(path)) {
        CAY_CHECK(fill_in(package, name, digest_of(name)));
      }
      if (is_mounted_over(path) || !tree_.has(name)) absent.insert(path);
    }
    for (const auto& [path, digest] : package.conffiles) {
      if (!tree_.has(path.substr(1))) absent.insert(path);
    }
    if (absent.empty()) return std::string(package.stanza);
    for (const char* kind : {"list", "md5sums", "conffiles"}) {
      CAY_CHECK(write_without(info_path(package, kind), absent));
    }
    return without_conffiles(package.stanza, absent);
  }

  // The host's file at `path` without the lines that end in one of `absent` ("/etc/x", "0123…
  // etc/x").
  Result<void> write_without(const std::string& path, const Names& absent) {
    if (!tree_.has(path)) return {};
    std::string kept;
    each_line(tree_.host_text(path), [&](std::string_view line) {
      constexpr std::size_t kDigits = 32;
      const bool digest = line.size() > kDigits + 2 && line.substr(kDigits, 2) == "  ";
      const std::string named =
          digest ? "/" + std::string(line.substr(kDigits + 2))
                 : std::string(line.substr(std::min(line.find('/'), line.size())));
      if (!absent.contains(named)) kept += std::string(line) + "\n";
    });
    return tree_.make_file(path, kept);
  }

  // Each line of these files ends in the name of a package that a trigger wakes.
  Result<void> write_triggers(const Names& skipped) {
    for (const std::string& name : tree_.host_names(kTriggers)) {
      if (name == "Lock" || name == "Unincorp") continue;
      const std::string path = std::string(kTriggers) + "/" + name;
      std::string kept;
      each_line(tree_.host_text(path), [&](std::string_view line) {
        const std::string_view last = line.substr(line.find_last_of(' ') + 1);
        if (!skipped.contains(last.substr(0, last.find('/')))) kept += std::string(line) + "\n";
      });
      CAY_CHECK(tree_.make_file(path, kept));
    }
    return {};
  }

  // dpkg does nothing at all where an owner in this list is unknown.
  Result<void> write_overrides() {
    constexpr const char* kOverrides = "var/lib/dpkg/statoverride";
    std::string kept;
    each_line(tree_.host_text(kOverrides), [&](std::string_view line) {
      const std::string_view user = line.substr(0, line.find(' '));
      const std::string_view rest = line.substr(std::min(user.size() + 1, line.size()));
      const std::string_view group = rest.substr(0, rest.find(' '));
      if (is_known(passwd_, user) && is_known(group_, group)) kept += std::string(line) + "\n";
    });
    return tree_.make_file(kOverrides, kept);
  }

  static bool is_known(std::string_view accounts, std::string_view name) {
    if (name.empty()) return false;
    const std::string start = std::string(name) + ":";
    return name.starts_with('#') || accounts.starts_with(start) ||
           accounts.find("\n" + start) != std::string_view::npos;
  }

  TreeWriter& tree_;
  const Progress& progress_;
  DpkgDatabase database_;
  std::vector<bool> gone_;  // by their place in the database
  Names listed_, of_base_, of_services_;
  std::string passwd_ = tree_.text("etc/passwd"), group_ = tree_.text("etc/group");
};

}  // namespace

Result<void> write_packages(TreeWriter& tree, const Progress& progress) {
  const std::string status = tree.host_text("var/lib/dpkg/status");
  if (status.empty()) return {};
  return Packages(tree, progress, status).write();
}

}  // namespace cay::launcher
