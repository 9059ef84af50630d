#include "launcher/default_snapshot_etc.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "launcher/default_snapshot_accounts.h"
#include "wire/guest_network.h"

namespace cay::launcher {
namespace {

// Programs of /usr need these parts of the host's /etc to run: an allow-list, one name each. None
// describes the host itself (names, networks, accounts, mirrors, proxies, mounts), and none is a
// key. An entry is taken only if every user of the host may read it.
constexpr std::string_view kCopied[] = {
    "adduser.conf",
    "deluser.conf",  // adduser in package scripts
    "alternatives",  // /usr/bin/x -> /etc/alternatives/x
    "bash.bashrc",
    "inputrc",
    "profile",
    "skel",
    "shells",  // shells
    "bindresvport.blacklist",
    "gai.conf",
    "host.conf",
    "netconfig",
    "protocols",
    "rpc",
    "services",  // C library
    "ca-certificates.conf",
    "ca-certificates",  // update-ca-certificates
    "debconf.conf",
    "dpkg",
    "ucf.conf",  // package tools
    "debian_version",
    "issue",
    "issue.net",
    "lsb-release",
    "os-release",
    "fonts",
    "ghostscript",
    "groff",
    "ImageMagick-6",
    "ImageMagick-7",
    "magic",
    "magic.mime",
    "mailcap",
    "mime.types",
    "gdb",
    "gss",
    "libaudit.conf",
    "libnl-3",
    "locale.alias",
    "locale.gen",
    "login.defs",
    "mke2fs.conf",
    "nanorc",
    "manpath.config",
    "maven/m2.conf",
    "maven/logging",
    "perl",
    "python3",
    "rmt",
    "sgml",
    "terminfo",
    "texmf",
    "vim",
    "xattr.conf",
    "xml",
    "iproute2",
    "ld.so.conf",
    "R",
    "OpenCL",
    "glvnd",
    "ssl/openssl.cnf",
    "ssl/certs",  // public certificates; ssl/private is not here
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "pki/tls/cert.pem",  // the same on Fedora and its kin
    "security/pam_env.conf",
    "security/namespace.conf",
    "security/namespace.init",
    "security/capability.conf",
    "pam.conf",
    "pam.d/chfn",
    "pam.d/chpasswd",
    "pam.d/chsh",
    "pam.d/cron",
    "pam.d/login",
    "pam.d/newusers",
    "pam.d/other",
    "pam.d/passwd",
    "pam.d/runuser",
    "pam.d/runuser-l",
    "pam.d/sshd",
    "pam.d/su",
    "pam.d/su-l",
    "pam.d/sudo",
    "pam.d/sudo-i",
    "apt/trusted.gpg.d",  // the distribution's public keys
    "default/locale",
    "default/useradd",
};
constexpr std::string_view kCopiedPrefixes[] = {"java-", "python3."};  // and a version

constexpr std::string_view kDirectories[] = {
    "alternatives",
    "apt",
    "apt/apt.conf.d",
    "apt/keyrings",
    "apt/preferences.d",
    "apt/sources.list.d",
    "apt/trusted.gpg.d",
    "bash_completion.d",
    "cron.d",
    "cron.daily",
    "default",
    "init.d",
    "ld.so.conf.d",
    "logrotate.d",
    "maven",
    "opt",
    "pam.d",
    "pki",
    "pki/ca-trust",
    "pki/tls",
    "profile.d",
    "rc0.d",
    "rc1.d",
    "rc2.d",
    "rc3.d",
    "rc4.d",
    "rc5.d",
    "rc6.d",
    "rcS.d",
    "security",
    "security/limits.d",
    "security/namespace.d",
    "ssl",
    "ssl/private",
    "sudoers.d",
    "systemd",
    "systemd/system",
    "systemd/user",
    "sysctl.d",
    "xdg",
};

// A second wall under the allow-list: names that are never copied, wherever they are.
bool is_secret_name(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (path.find("/private") != path.npos || name.starts_with("ssh_host_") || name.starts_with("."))
    return true;
  for (std::string_view end : {".key", ".p12", ".pfx", ".jks", ".password", ".secret", ".netrc",
                               "-", ".dpkg-old", ".dpkg-dist"})
    if (name.ends_with(end)) return true;
  return name == "machine-id" || name == "shadow" || name == "gshadow" || name == "auth.conf";
}

Result<void> write_apt(TreeWriter& tree, const std::string& archive_url) {
  const std::string os_release = tree.host_text("etc/os-release");
  const std::string sources = apt_sources(os_release, apt_files(tree), archive_url);
  if (!sources.empty()) {
    CAY_CHECK(tree.make_file(
        "etc/apt/sources.list.d/" + os_release_value(os_release, "ID") + ".sources", sources));
  }
  // Nobody is there to answer a question about a changed configuration file.
  return tree.make_file("etc/apt/apt.conf.d/90cay",
                        "DPkg::Options { \"--force-confdef\"; \"--force-confold\"; "
                        "};\nAPT::Periodic::Enable \"0\";\n");
}

Result<void> write_accounts(TreeWriter& tree) {
  const Accounts made = make_accounts(tree.host_text("usr/share/base-passwd/passwd.master"),
                                      tree.host_text("usr/share/base-passwd/group.master"),
                                      tree.host_text("etc/passwd"), tree.host_text("etc/group"));
  constexpr gid_t kShadowGroup = 42;
  CAY_CHECK(tree.make_file("etc/passwd", made.passwd));
  CAY_CHECK(tree.make_file("etc/group", made.group));
  CAY_CHECK(tree.make_file("etc/shadow", made.shadow, 0640, 0, kShadowGroup));
  CAY_CHECK(tree.make_file("etc/gshadow", made.gshadow, 0640, 0, kShadowGroup));
  CAY_CHECK(tree.make_file("etc/subuid", ""));
  return tree.make_file("etc/subgid", "");
}

// The usual stacks, without the host's own modules (LDAP, Kerberos, limits of its own).
Result<void> write_pam(TreeWriter& tree) {
  struct Stack {
    const char *name, *text;
  };
  const Stack stacks[] = {
      {"common-auth",
       "auth [success=1 default=ignore] pam_unix.so nullok\nauth requisite pam_deny.so\nauth "
       "required pam_permit.so\n"},
      {"common-account",
       "account [success=1 new_authtok_reqd=done default=ignore] pam_unix.so\naccount requisite "
       "pam_deny.so\n"
       "account required pam_permit.so\n"},
      {"common-password",
       "password [success=1 default=ignore] pam_unix.so obscure yescrypt\npassword requisite "
       "pam_deny.so\n"
       "password required pam_permit.so\n"},
      {"common-session",
       "session [default=1] pam_permit.so\nsession requisite pam_deny.so\nsession required "
       "pam_permit.so\nsession required pam_unix.so\n"},
      {"common-session-noninteractive",
       "session [default=1] pam_permit.so\nsession requisite pam_deny.so\nsession required "
       "pam_permit.so\nsession required pam_unix.so\n"},
  };
  for (const Stack& stack : stacks) {
    CAY_CHECK(tree.make_file(std::string("etc/pam.d/") + stack.name, stack.text));
  }
  return tree.make_file("etc/security/limits.conf",
                        "# No limits of its own: the sandbox has them.\n");
}

Result<void> write_sudo(TreeWriter& tree) {
  CAY_CHECK(tree.make_file("etc/sudoers.d/90-cay", "user ALL=(ALL:ALL) NOPASSWD: ALL\n", 0440));
  if (!tree.has("usr/bin/sudo"))
    return {};  // else a later install would ask about a changed sudoers
  return tree.make_file(
      "etc/sudoers",
      "Defaults env_reset\n"
      "Defaults secure_path=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\n"
      "root ALL=(ALL:ALL) ALL\n%sudo ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n",
      0440);
}

// Certificates that the distribution ships; the host's own authorities live under /usr/local.
Result<void> write_certificates(TreeWriter& tree) {
  const std::string list = tree.host_text("etc/ca-certificates.conf");
  std::string bundle;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    const std::string name = list.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name[0] == '#' || name[0] == '!') continue;
    const std::string text = tree.host_text("usr/share/ca-certificates/" + name);
    bundle += text;
    if (!text.empty() && text.back() != '\n') bundle += '\n';
  }
  if (bundle.empty()) return {};  // not a Debian: the copied bundle stays
  return tree.make_file("etc/ssl/certs/ca-certificates.crt", bundle);
}

}  // namespace

std::vector<AptFile> apt_files(TreeWriter& tree) {
  std::vector<AptFile> files = {{AptFile::Form::kLines, tree.host_text("etc/apt/sources.list")}};
  for (const std::string& name : tree.host_names("etc/apt/sources.list.d")) {
    const bool stanzas = name.ends_with(".sources");
    if (!stanzas && !name.ends_with(".list")) continue;
    files.push_back({stanzas ? AptFile::Form::kStanzas : AptFile::Form::kLines,
                     tree.host_text("etc/apt/sources.list.d/" + name)});
  }
  return files;
}

Result<void> write_etc(TreeWriter& tree, const wire::PrepareDefault& with) {
  CAY_CHECK(tree.make_dir("etc", 0755));
  for (std::string_view dir : kDirectories) {
    const mode_t mode = dir == "sudoers.d" ? 0750 : dir == "ssl/private" ? 0700 : 0755;
    CAY_CHECK(tree.make_dir("etc/" + std::string(dir), mode));
  }
  // The host's own certificate authorities, and the hash links to them.
  const auto is_local_certificate = [&tree, &with](std::string_view path) {
    if (with.host_authorities || !path.starts_with("etc/ssl/certs/")) return false;
    std::string target = tree.host_link(std::string(path));
    if (!target.empty() && target.find('/') == std::string::npos)
      target = tree.host_link("etc/ssl/certs/" + target);
    return target.starts_with("/usr/local/");
  };
  const TreeWriter::Skip secrets = [&](std::string_view path) {
    return is_secret_name(path) || is_local_certificate(path);
  };
  for (std::string_view name : kCopied) {
    CAY_CHECK(tree.copy_tree("etc/" + std::string(name), secrets));
  }
  for (std::string_view prefix : kCopiedPrefixes) {
    const TreeWriter::Skip others = [prefix](std::string_view path) {
      if (path == "etc") return false;
      path.remove_prefix(4);
      return !path.starts_with(prefix) || is_secret_name(path);
    };
    CAY_CHECK(tree.copy_tree("etc", others));
  }
  CAY_CHECK(tree.make_dir("etc", 0755));

  const bool has_myhostname =
      tree.host_text("etc/nsswitch.conf").find("myhostname") != std::string::npos;
  struct File {
    const char* name;
    std::string text;
  };
  const File files[] = {
      {"hostname", "sandbox\n"},  // these two are written again for each sandbox
      {"hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"},
      {"resolv.conf", "nameserver " + std::string(wire::kGuestResolver) + "\n"},
      {"nsswitch.conf",
       "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files " +
           std::string(has_myhostname ? "myhostname " : "") +
           "dns\nnetworks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n"},
      {"networks", "loopback 127.0.0.0\n"},
      {"timezone", "Etc/UTC\n"},
      {"environment", ""},
      {"fstab", ""},
      {"motd", ""},
      {"machine-id", ""},
      {"ld.so.conf.d/libc.conf", "/usr/local/lib\n"},
  };
  for (const File& file : files) {
    CAY_CHECK(tree.make_file(std::string("etc/") + file.name, file.text));
  }
#if defined(__x86_64__)
  CAY_CHECK(tree.make_file(
      "etc/ld.so.conf.d/x86_64-linux-gnu.conf",
      "/usr/local/lib/x86_64-linux-gnu\n/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n"));
#elif defined(__aarch64__)
  CAY_CHECK(tree.make_file(
      "etc/ld.so.conf.d/aarch64-linux-gnu.conf",
      "/usr/local/lib/aarch64-linux-gnu\n/lib/aarch64-linux-gnu\n/usr/lib/aarch64-linux-gnu\n"));
#endif
  CAY_CHECK(tree.make_link("etc/localtime", "/usr/share/zoneinfo/Etc/UTC"));
  CAY_CHECK(tree.make_link("etc/mtab", "../proc/self/mounts"));
  CAY_CHECK(write_accounts(tree));
  CAY_CHECK(write_pam(tree));
  CAY_CHECK(write_sudo(tree));
  if (with.host_authorities) {
    CAY_CHECK(tree.copy_tree("usr/local/share/ca-certificates"));  // what the copied links lead to
  } else {
    CAY_CHECK(write_certificates(tree));
  }
  return write_apt(tree, with.apt_archive);
}

}  // namespace cay::launcher
