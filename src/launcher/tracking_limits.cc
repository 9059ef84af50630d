#include "launcher/tracking_limits.h"

#include <string>

#include "os/file.h"

namespace cay::launcher {
namespace {

// Seconds. As long as the sockets' own TIME_WAIT: until then a port that is taken again must not
// meet its old connection. The kernel has the other states that have no open connection at a minute
// or less by itself.
constexpr const char* kMost = "60";
constexpr const char* kLonger[] = {
    "nf_conntrack_tcp_timeout_syn_sent", "nf_conntrack_tcp_timeout_fin_wait",
    "nf_conntrack_tcp_timeout_time_wait", "nf_conntrack_udp_timeout_stream"};

}  // namespace

Result<void> limit_tracking(int settings) {
  for (const char* one : kLonger) {
    auto written = os::write_file(settings, std::string("netfilter/") + one, kMost);
    if (!written) return std::move(written).error().while_doing(std::string("limit ") + one);
  }
  return {};
}

}  // namespace cay::launcher
