#include "api/daytona/toolbox/info.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/machine.h"
#include "api/daytona/toolbox/request.h"
#include "api/daytona/toolbox/run.h"
#include "async/deadline.h"
#include "base/clock.h"
#include "codec/time.h"
#include "core/ports/runtime.h"
#include "core/verbs/inspection.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::daytona {
namespace {

using namespace std::chrono_literals;
using MachineClock = std::chrono::steady_clock;

constexpr Millis kCpuInterval = 100ms;
constexpr std::uint16_t kFirstPort = 3000;
constexpr std::uint16_t kLastPort = 9999;
constexpr std::uint32_t kMillisOfCpu = 1000;
constexpr double kHundred = 100;
constexpr std::size_t kMostVariablesOfBody = 1024;

// Prints the tables of sockets, the memory and the disk of the working directory.
constexpr const char* kSockets = "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null";
constexpr const char* kMemoryAndDisk = "cat /proc/meminfo; echo; df -Pk .";

Task<std::string> printed_by(core::Cay& cay, Box box, const char* script) {
  Program program{.argv = {"/bin/sh", "-c", script}};
  const auto part = cay.answers().begin(box.who.tenant);
  CAY_CO_TRY(RanProgram ran, co_await run_program(cay, std::move(box), std::move(program), part));
  co_return std::move(ran.out);
}

http::Response directory_answer(const std::string& directory) {
  return json_answer(200, codec::json::object{{"dir", codec::text(directory)}});
}

// The use of the sandbox's CPUs in percent, measured for a moment.
Task<double> cpu_percent(core::Cay& cay, Box box, double cpus) {
  CAY_CO_TRY(const auto before, co_await cay.inspection().stats(box.who, box.ref));
  const auto begin = MachineClock::now();
  co_await sleep_for(kCpuInterval);
  CAY_CO_TRY(const auto after, co_await cay.inspection().stats(box.who, box.ref));
  const std::chrono::duration<double, std::micro> time = MachineClock::now() - begin;
  const double used = static_cast<double>(after.cpu_usec - before.cpu_usec);
  co_return std::clamp(kHundred * used / (time.count() * cpus), 0.0, kHundred);
}

}  // namespace

Task<http::Response> user_home_dir(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const std::string home, co_await home_of(cay, box));
  co_return directory_answer(home);
}

Task<http::Response> work_dir(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  co_return directory_answer(box.workdir);
}

Task<http::Response> list_ports(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const std::string text, co_await printed_by(cay, box, kSockets));
  codec::json::array ports;
  for (const std::uint16_t port : listening_ports(text)) ports.emplace_back(port);
  co_return json_answer(200, codec::json::object{{"ports", std::move(ports)}});
}

Task<http::Response> port_in_use(core::Cay& cay, ExchangePtr exchange) {
  const std::string asked = exchange->params().at("port");
  std::uint16_t port = 0;
  const char* const end = asked.data() + asked.size();
  const auto read = std::from_chars(asked.data(), end, port);
  if (read.ec != std::errc() || read.ptr != end || port < kFirstPort || port > kLastPort)
    co_return vendor_error(kBadRequest, "port out of range: it is 3000 to 9999");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const std::string text, co_await printed_by(cay, box, kSockets));
  co_return json_answer(200,
                        codec::json::object{{"isInUse", listening_ports(text).contains(port)}});
}

Task<http::Response> system_metrics(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const std::string text, co_await printed_by(cay, box, kMemoryAndDisk));
  const double cpus =
      std::max(1u, box.row.limits.cpu_millicores) / static_cast<double>(kMillisOfCpu);
  CAY_CO_TRY(const double percent, co_await cpu_percent(cay, box, cpus));
  CAY_CO_TRY(const auto stats, co_await cay.inspection().stats(box.who, box.ref));
  const std::size_t empty_line = text.find("\n\n");
  const auto disk = empty_line == std::string::npos
                        ? std::nullopt
                        : disk_space(std::string_view(text).substr(empty_line + 2));
  const DiskSpace space = disk.value_or(DiskSpace{.total = box.row.limits.disk_bytes});
  const UnixMillis now = system_clock().wall();
  co_return json_answer(
      200, codec::json::object{
               {"cpuCount", (box.row.limits.cpu_millicores + kMillisOfCpu - 1) / kMillisOfCpu},
               {"cpuUsedPct", percent},
               {"memTotal", box.row.limits.memory_bytes},
               {"memUsed", stats.memory_bytes},
               {"memCache", memory_value(text, "Cached").value_or(0)},
               {"diskTotal", space.total},
               {"diskUsed", space.used},
               {"diskFree", space.free},
               {"timestamp", codec::rfc3339(now)},
               {"timestampUnix", now / static_cast<UnixMillis>(kMillisOfCpu)}});
}

Task<http::Response> update_env(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::map<std::string, std::string> set;
  std::vector<std::string> unset;
  std::string prefix;
  fields.read("set", set, kMostVariablesOfBody);
  fields.read("unset", unset, kMostVariablesOfBody);
  fields.read("unsetValuePrefix", prefix);
  for (const auto& [name, value] : set) {
    if (!is_variable_name(name)) fields.complain("set", "invalid variable name: " + name);
  }
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  for (const auto& [name, value] : box.row.run.env) {
    const bool named = std::ranges::find(unset, name) != unset.end();
    const bool has_prefix = !prefix.empty() && value.starts_with(prefix);
    if ((named || has_prefix) && !set.contains(name)) {
      co_return vendor_error(kUnprocessable, "Cay cannot unset " + name +
                                                 ", a variable of the sandbox: set it to another "
                                                 "value");
    }
  }
  SandboxPatch patch;
  RunConfig run;
  run.env = set;
  patch.run = std::move(run);
  CAY_CO_TRY(const Sandbox changed,
             co_await cay.sandboxes().update(box.who, box.ref, std::move(patch)));
  static_cast<void>(changed);
  co_return json_answer(200, codec::json::object{{"message", "environment updated"}});
}

}  // namespace cay::api::daytona
