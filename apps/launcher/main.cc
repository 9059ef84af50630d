// cay-launcher: flags -> Config -> guardian. Static, and usually started by `cay`, which carries
// it.
#include <getopt.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "launcher/default_snapshot.h"
#include "launcher/guardian.h"
#include "launcher/holder.h"
#include "launcher/validate.h"
#include "os/service_manager.h"

namespace {

constexpr int kUsage = 2;

constexpr const char* kHelp =
    R"(Usage: cay-launcher --data DIR --daemon-uid N --instance ID [options]

The privileged half of Cay: makes and unmakes sandboxes for one daemon, over DATA/run/launcher.sock.

  --data DIR         the data directory (absolute)
  --daemon-uid N     the user that the daemon runs as; the only one served, besides root
  --gate-uid N       the user that the gate runs as (default: the daemon's)
  --daemon-gid N     the group that may read commands' output (default: DIR's group)
  --instance ID      instance id of the data directory
  --build V          program version, told to the daemon
  --socket-fd N      serve this listening socket instead of making one
  --cgroup-parent P  the cgroup that sandboxes lie below, e.g. /cay.slice/cay-sandboxes.service
                     (default: the root)
  --hold-cgroup      only keep the cgroup we were started in, for a launcher's --cgroup-parent
  --pool-size BYTES  size of a new disk pool (default: 80 % of the free space, at most 1 TiB)
  --plain-disks      no disk pool: disk limits are then not enforced
  --help             this text
)";

std::optional<unsigned long long> number(const char* text, unsigned long long most) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || *text == '-' || value > most)
    return std::nullopt;
  return value;
}

int usage(const std::string& complaint) {
  std::fprintf(stderr, "cay-launcher: %s\n\n%s", complaint.c_str(), kHelp);
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  cay::launcher::harden_process();
  cay::launcher::Config config;
  bool has_uid = false;
  bool has_gid = false;
  bool has_gate = false;
  enum Flag {
    kData = 256,
    kDaemonUid,
    kDaemonGid,
    kGateUid,
    kInstance,
    kBuild,
    kSocketFd,
    kCgroupParent,
    kHoldCgroup,
    kPoolSize,
    kPlainDisks,
    kHelpFlag
  };
  const option flags[] = {{"data", required_argument, nullptr, kData},
                          {"daemon-uid", required_argument, nullptr, kDaemonUid},
                          {"daemon-gid", required_argument, nullptr, kDaemonGid},
                          {"gate-uid", required_argument, nullptr, kGateUid},
                          {"instance", required_argument, nullptr, kInstance},
                          {"build", required_argument, nullptr, kBuild},
                          {"socket-fd", required_argument, nullptr, kSocketFd},
                          {"cgroup-parent", required_argument, nullptr, kCgroupParent},
                          {"hold-cgroup", no_argument, nullptr, kHoldCgroup},
                          {"pool-size", required_argument, nullptr, kPoolSize},
                          {"plain-disks", no_argument, nullptr, kPlainDisks},
                          {"help", no_argument, nullptr, kHelpFlag},
                          {nullptr, 0, nullptr, 0}};
  for (int flag = 0; (flag = ::getopt_long(argc, argv, "", flags, nullptr)) != -1;) {
    const auto most =
        static_cast<unsigned long long>(flag == kPoolSize   ? std::numeric_limits<long long>::max()
                                        : flag == kSocketFd ? 1 << 20
                                                            : 0xffff'fffeLL);
    std::optional<unsigned long long> value;
    if (flag == kDaemonUid || flag == kDaemonGid || flag == kGateUid || flag == kSocketFd ||
        flag == kPoolSize) {
      value = number(optarg, most);
      if (!value) return usage(std::string("not a number that fits: ") + optarg);
    }
    switch (flag) {
      case kData: config.data = optarg; break;
      case kDaemonUid:
        config.daemon_uid = static_cast<uid_t>(*value);
        has_uid = true;
        break;
      case kDaemonGid:
        config.daemon_gid = static_cast<gid_t>(*value);
        has_gid = true;
        break;
      case kGateUid:
        config.gate_uid = static_cast<uid_t>(*value);
        has_gate = true;
        break;
      case kInstance: config.instance = optarg; break;
      case kBuild: config.build = optarg; break;
      case kSocketFd: config.socket_fd = static_cast<int>(*value); break;
      case kCgroupParent: config.cgroup_parent = optarg; break;
      case kHoldCgroup: return cay::launcher::hold_cgroup();
      case kPoolSize: config.pool_bytes = *value; break;
      case kPlainDisks: config.plain_disks = true; break;
      case kHelpFlag: std::fputs(kHelp, stdout); return 0;
      default: return usage("unknown option");
    }
  }
  if (optind != argc) return usage(std::string("unexpected argument ") + argv[optind]);
  if (config.data.empty() || config.data.front() != '/')
    return usage("--data must be an absolute path");
  if (!has_uid) return usage("--daemon-uid is missing");
  if (!cay::launcher::is_instance(config.instance))
    return usage("--instance must be 1-64 of a-z, 0-9 and dashes");
  if (!cay::launcher::is_cgroup_parent(config.cgroup_parent))
    return usage("--cgroup-parent must be an absolute path without . and ..");
  struct stat info{};
  if (!has_gid && ::stat(config.data.c_str(), &info) == 0) config.daemon_gid = info.st_gid;
  if (!has_gate) config.gate_uid = config.daemon_uid;
  config.gate_gid = has_gate ? config.gate_uid : config.daemon_gid;
  config.on_ready = [] { cay::os::notify_service_manager("READY=1"); };
  config.arguments = argv[0];
  config.arguments_size =
      static_cast<std::size_t>(argv[argc - 1] + std::strlen(argv[argc - 1]) + 1 - argv[0]);
  config.prepare_default = [](const std::string& layers, const cay::wire::PrepareDefault& with,
                              const cay::launcher::Progress& progress) {
    return cay::launcher::build_default_snapshot(layers, progress, {.with = with});
  };
  return cay::launcher::run_guardian(std::move(config));
}
