#include "runtime/native/native_runtime.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "async/deadline.h"
#include "runtime/native/launcher_messages.h"
#include "runtime/native/decision_log_reader.h"
#include "runtime/native/decision_reader.h"
#include "runtime/native/helper_state.h"
#include "runtime/keeper/keeper_sandbox.h"
#include "runtime/native/program_reader.h"
#include "runtime/native/rules_file.h"
#include "runtime/native/spool_reader.h"
#include "runtime/native/unix_dialer.h"
#include "wire/launcher_features.h"

namespace cay::runtime {
namespace {

constexpr Millis kGreetLimit{10'000};
// At the daemon's start, for all keepers together: one that is silent must not keep clients from
// the others.
constexpr Millis kAdoptLimit{300};
constexpr Millis kLeftoversLimit{500};  // for the ends of what does not live, all together
constexpr Millis kPoliteLimit{2000};    // for a keeper to record the ends of its commands
constexpr Millis kLastReads{1000};      // for readers to take the rest, before the spool is removed

std::string host_boot_id() {
  const UniqueFd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> buffer{};
  const ssize_t got = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : 0;
  std::string id(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

wire::Hello our_hello(const NativeConfig& config) {
  wire::Hello hello;
  hello.role = "daemon";
  hello.boot_id = host_boot_id();
  hello.instance = config.instance;
  hello.build = config.build;
  hello.notes = true;
  return hello;
}

LauncherClient::Config launcher_config(const NativeConfig& config, const wire::Hello& hello) {
  return {
      .dial = unix_dialer(config.data + "/run/launcher.sock"),
      .hello = hello,
      .instance = config.instance,
      // A caller of the API is not shown where on the host the data lie.
      .start_hint =
          "on the host, `sudo cay launcher --data DATA --daemon-uid UID --detach` starts it (the "
          "daemon's data directory and user)",
      .connect_limit = config.launcher_limit};
}

bool is_off(const std::string& policy) { return policy.empty() || policy == "off"; }

// Returns the profile that the launcher gave a sandbox. A launcher without profiles names none, and
// holds commands as profile default does.
std::string profile_given(const wire::Created& got) {
  return got.profile.empty() ? "default" : got.profile;
}

SandboxNetwork network_of(const std::string& policy, const std::string& no_network) {
  if (is_off(policy)) return {};
  if (!no_network.empty()) return {NetworkState::kUnavailable, no_network};
  return {NetworkState::kOn, ""};
}

// Returns the way out that came of the requested policy.
SandboxNetwork network_of(const core::BootSpec& asked, const wire::Created& got) {
  if (!is_off(asked.policy) && got.policy.empty()) {
    return {NetworkState::kUnavailable,
            "the launcher is older than this daemon and makes no way out: restart it"};
  }
  return network_of(got.policy, got.no_network);
}

// Closes a connection that did not become a sandbox's, also when its coroutine is cancelled.
class CloseUnlessKept {
 public:
  explicit CloseUnlessKept(std::shared_ptr<PersistentLink> line) : line_(std::move(line)) {}
  CloseUnlessKept(const CloseUnlessKept&) = delete;
  CloseUnlessKept& operator=(const CloseUnlessKept&) = delete;
  ~CloseUnlessKept() {
    if (line_)
      line_->close(Error{Code::kCancelled, "boot_cancelled", "the sandbox did not come up", 0});
  }
  void keep() { line_.reset(); }

 private:
  std::shared_ptr<PersistentLink> line_;
};

}  // namespace

NativeRuntime::NativeRuntime(asio::any_io_executor loop, NativeConfig config)
    : QuestionFiles(loop, config.data),
      loop_(loop),
      config_(std::move(config)),
      spool_(config_.data + "/spool"),
      hello_(our_hello(config_)),
      launcher_(loop, launcher_config(config_, hello_)),
      layers_(launcher_),
      volumes_(launcher_),
      live_(std::make_shared<LiveKeepers>(
          loop,
          LiveKeepers::Config{.sockets = config_.data + "/run",
                              .instance = config_.instance,
                              .hello = hello_,
                              .disk_reserve = config_.disk_reserve,
                              .launcher_reports = [this] { return launcher_.connected(); }})) {
  launcher_.on_died([live = live_](const wire::SandboxEntry& entry) {
    live->died(SandboxId(entry.sandbox_id), entry.reason.empty() ? "keeper lost" : entry.reason);
  });
}

NativeRuntime::~NativeRuntime() {
  live_->close(Error{Code::kUnavailable, "daemon_ending", "this daemon is ending", 0});
}

Task<std::shared_ptr<core::LiveSandbox>> NativeRuntime::boot(core::BootSpec spec) {
  CAY_CO_CHECK(check_layer_features(spec, launcher_.theirs()));
  wire::CreateSandbox request;
  request.sandbox_id = spec.id.get();
  request.hostname = spec.hostname;
  fill_disk(spec, request);
  request.cpu_millicores = spec.limits.cpu_millicores;
  request.memory_bytes = spec.limits.memory_bytes;
  request.disk_bytes = spec.limits.disk_bytes;
  request.pids = spec.limits.pids;
  request.spool_bytes = config_.spool_bytes;
  request.waits_for_use = spec.waits_for_use;
  request.record_programs = spec.record_programs;
  request.profile = to_string(spec.profile);
  request.nested_networks = config_.nested_networks;
  for (const auto& [path, bytes] : spec.tmpfs) {
    // The memory limit may be lower than at the creation.
    request.tmpfs.push_back({path, std::min(bytes, spec.limits.memory_bytes)});
  }
  request.policy = spec.policy;
  request.networks = config_.networks;
  request.network_required = spec.network_required;
  // A sandbox that was booted before has a spool; a failure then must not cost it its disk.
  struct stat ignored{};
  const bool first = ::stat((spool_ + "/" + spec.id.get()).c_str(), &ignored) != 0;
  const auto old = live_->take(spec.id);
  if (old) old->close(Error{Code::kLost, "keeper_lost", "the sandbox was booted anew", 0});
  // Before its keeper lends anything; and not a policy of an earlier start.
  if (spec.rules.empty()) {
    CAY_CO_CHECK(remove_rules(config_.data, spec.id));
  } else {
    CAY_CO_CHECK(write_rules(config_.data, spec.id, {spec.policy, spec.rules}));
  }
  auto created = co_await launcher_.create(request);
  if (!created && created.error().reason == "sandbox_busy") {
    // It has just died, and its remains are being removed: a stop ends when that is over.
    CAY_CO_CHECK(co_await launcher_.stop(spec.id.get()));
    created = co_await launcher_.create(request);
  }
  if (!created) co_return std::move(created).error();
  const SandboxNetwork network = network_of(spec, *created);
  Result<std::shared_ptr<core::LiveSandbox>> box;
  const auto disk_as_meant = check_layer_features(spec, launcher_.theirs());  // it is met now
  if (!disk_as_meant) {
    box = disk_as_meant.error();
  } else if (spec.record_programs && !created->record_programs) {
    box = Error{Code::kUnsupported, "programs_unsupported",
                "the launcher is older than this daemon and records no programs: restart it", 0};
  } else if (profile_given(*created) != to_string(spec.profile)) {
    box = Error{Code::kUnsupported, "profile_unsupported",
                "the launcher is older than this daemon, and started the sandbox by the profile '" +
                    profile_given(*created) + "': restart it",
                0};
  } else if (spec.profile == Profile::kNested && !config_.nested_networks &&
             !created->knows_networks && !launcher_.has(wire::launcher_feature::kNestedNetworks)) {
    box = Error{
        Code::kUnsupported, "profile_unsupported",
        "the launcher is older than this daemon, and lets containers make network namespaces, "
        "which the operator does not allow (host.nested_networks): restart it",
        0};
  } else if (!spec.tmpfs.empty() && !created->knows_tmpfs &&
             !launcher_.has(wire::launcher_feature::kTmpfs)) {
    box = Error{
        Code::kUnsupported, "tmpfs_unsupported",
        "the launcher is older than this daemon and makes no file systems in memory: restart it",
        0};
  } else if (spec.network_required && network.state == NetworkState::kUnavailable) {
    box = Error{Code::kUnsupported, "network_unsupported", network.reason, 0};
  } else {
    auto line = live_->connect(spec.id);
    CloseUnlessKept closing(line);
    box = co_await live_->greet(spec.id, line, network, kGreetLimit);
    if (box) closing.keep();
  }
  if (box) co_return std::move(box);
  auto undone = first ? launcher_.destroy(spec.id.get()) : launcher_.stop(spec.id.get());
  auto done = co_await std::move(undone);
  static_cast<void>(done);  // why the boot failed is what the caller must know
  co_return std::move(box).error();
}

Task<void> NativeRuntime::stop(SandboxId id) {
  const auto line = live_->line_of(id);
  const auto readers = live_->readers_of(id);
  const Error why{Code::kLost, "keeper_lost", "the sandbox was stopped", 0};
  if (line) {
    line->expect_end(why);
    auto polite = co_await polite_shutdown(line, kPoliteLimit);
    if (polite && readers) readers->go_on_from(spooled_commands(spool_, id, hello_.boot_id));
    // Else the launcher ends what does not end by itself.
  }
  // The link stays until the launcher has done it. It reports the keeper's end if the launcher
  // does not.
  auto stopped = co_await launcher_.stop(id.get());
  if (!stopped) {
    if (line) line->expect_end(std::nullopt);  // if it lives on, its end will be none of our making
    co_return std::move(stopped);
  }
  static_cast<void>(remove_rules(config_.data, id));  // the next start does
  if (readers) readers->go_on_from(spooled_commands(spool_, id, hello_.boot_id));
  live_->forget(id, line);
  if (line) line->close(why);
  co_return Result<void>{};
}

Task<void> NativeRuntime::destroy(SandboxId id) {
  auto line = live_->take(id);
  const auto readers = live_->readers_of(id);
  live_->forget_readers(id);
  const Error why{Code::kNotFound, "sandbox_not_found", "the sandbox was deleted meanwhile", 0};
  // Without readers nobody needs its records: no need to wait for them.
  if (line && readers && !readers->empty()) {
    line->expect_end(why);
    readers->expect_removal();
    auto polite = co_await polite_shutdown(line, kPoliteLimit);
    static_cast<void>(polite);  // what has no end on record then is killed by the launcher
    readers->go_on_from(spooled_commands(spool_, id, hello_.boot_id));
    line->close(why);
    const bool done = co_await readers->done(kLastReads);
    if (!done) readers->let_go();
  } else if (line) {
    line->close(why);
  }
  auto destroyed = co_await launcher_.destroy(id.get());
  if (destroyed) static_cast<void>(remove_rules(config_.data, id));
  co_return destroyed;
}

Task<std::vector<SandboxId>> NativeRuntime::with_disk() {
  CAY_CO_TRY(const auto entries, co_await launcher_.list());
  std::vector<SandboxId> out;
  for (const auto& entry : entries) {
    if (entry.has_disk) out.emplace_back(entry.sandbox_id);
  }
  co_return std::move(out);
}

Task<std::vector<std::pair<SandboxId, std::shared_ptr<core::LiveSandbox>>>> NativeRuntime::adopt(
    std::vector<SandboxId> known) {
  CAY_CO_TRY(const auto entries, co_await launcher_.list());
  const std::set<SandboxId> wanted(known.begin(), known.end());
  // All connect at once; each is then waited for in turn.
  std::vector<std::pair<SandboxId, std::shared_ptr<PersistentLink>>> lines;
  std::map<SandboxId, SandboxNetwork> networks;
  for (const auto& entry : entries) {
    SandboxId id(entry.sandbox_id);
    if (entry.alive && wanted.contains(id)) lines.emplace_back(id, live_->connect(id));
    if (!entry.policy.empty()) networks[id] = network_of(entry.policy, entry.no_network);
  }
  std::vector<std::pair<SandboxId, std::shared_ptr<core::LiveSandbox>>> alive;
  std::set<SandboxId> connected;
  const Deadline limit = after(kAdoptLimit);
  for (const auto& [id, line] : lines) {
    const auto network = networks.find(id);
    auto way_out = network == networks.end() ? std::nullopt : std::optional(network->second);
    auto box = co_await live_->greet(id, line, way_out, left_until(limit));
    if (!box && !line->ended() && box.error().code == Code::kUnavailable) {
      // It lives and does not answer now: what it holds is not for us to end. Its link goes on
      // trying.
      spdlog::warn("sandbox {} lives and its keeper does not answer: {}", id.get(),
                   box.error().message);
      box = live_->keep(id, line, std::move(way_out));
    }
    if (!box) {
      line->close(box.error());
      spdlog::warn("sandbox {} lives but cannot be adopted: {}", id.get(), box.error().message);
      continue;
    }
    connected.insert(id);
    alive.emplace_back(id, *std::move(box));
  }
  keep_rules_of(config_.data, wanted);
  const Deadline patience = after(kLeftoversLimit);  // the launcher goes on ending them afterwards
  for (const auto& entry : entries) {
    SandboxId id(entry.sandbox_id);
    if (connected.contains(id)) continue;
    auto ending = wanted.contains(id) ? launcher_.stop(entry.sandbox_id)
                                      : launcher_.destroy(entry.sandbox_id);
    auto ended =
        co_await with_deadline(std::move(ending), left_until(patience) + Millis{10}, "its end");
    // A leftover that does not go must not keep the daemon from serving the others. The next start
    // tries again.
    if (!ended)
      spdlog::warn("leftovers of sandbox {}: {}", entry.sandbox_id, ended.error().message);
  }
  co_return std::move(alive);
}

Task<std::vector<Command>> NativeRuntime::stopped_commands(SandboxId id) {
  constexpr std::size_t kSlice = 64;
  CAY_CO_TRY(SpooledCommands spools, SpooledCommands::open(spool_, id, hello_.boot_id));
  for (;;) {
    CAY_CO_TRY(const bool more, spools.read(kSlice));
    if (!more) break;
    co_await asio::post(loop_, asio::use_awaitable);  // others have their turn
  }
  co_return spools.take();
}

Task<std::unique_ptr<core::CommandReader>> NativeRuntime::stopped_reader(SandboxId id,
                                                                         CommandId command,
                                                                         core::OutputOffsets from) {
  co_return spooled_reader(spool_, id, command, from, hello_.boot_id);
}

Task<ProgramPage> NativeRuntime::programs(SandboxId id, std::uint64_t offset, std::uint32_t limit) {
  co_return read_programs(spool_, id, offset, limit);
}

Task<void> NativeRuntime::set_policy(SandboxId id, std::string policy, std::string rules) {
  CAY_CO_CHECK(write_rules(config_.data, id, {std::move(policy), std::move(rules)}));
  auto told = co_await tell_gate(loop_, config_.data, id);
  co_return told;
}

Task<NetworkReport> NativeRuntime::network(SandboxId id) {
  if (live_->contains(id)) {
    co_await gate_has_written(loop_, config_.data, id);
  }
  auto report = read_decisions(config_.data + "/gate", id);
  if (report) report->gate_serves = gate_serves(config_.data);
  co_return report;
}

Task<DecidedPage> NativeRuntime::decisions(SandboxId id, DecidedQuery query) {
  const bool is_first_look = query.seen == 0;  // who waits for more looks again soon
  if (is_first_look && live_->contains(id)) {
    co_await gate_has_written(loop_, config_.data, id);
  }
  co_return read_decision_log(config_.data + "/gate", id, query);
}

Task<SnapshotInfo> NativeRuntime::prepare_default_snapshot(
    std::function<void(std::string)> progress) {
  CAY_CO_TRY(const auto snapshot,
             co_await launcher_.prepare_default(config_.prepare, std::move(progress)));
  co_return to_model(snapshot);
}

void NativeRuntime::watch(std::function<void(core::SandboxDeath)> on_death) {
  live_->watch(std::move(on_death));
}

void NativeRuntime::part() { live_->part(); }

core::RuntimeHealth NativeRuntime::health() const {
  const std::uint64_t links = launcher_.connections();
  return {.reachable = launcher_.connected(),
          .reconnects = links > 0 ? links - 1 : 0,
          .gate_serves = gate_serves(config_.data),
          .broker_serves = broker_serves(config_.data)};
}

core::Capabilities NativeRuntime::capabilities() const {
  return can_.now(launcher_.theirs(), config_.nested_networks, std::chrono::steady_clock::now());
}

Task<std::vector<core::Feature>> NativeRuntime::features() {
  CAY_CO_TRY(const auto found, co_await launcher_.probe());
  can_.learn(found, std::chrono::steady_clock::now());
  std::vector<core::Feature> features;
  for (const auto& feature : found) {
    features.push_back(to_model(feature));
    // The launcher looks at the host alone.
    if (feature.name == "package sources" && !config_.prepare.apt_archive.empty())
      features.back() = {feature.name, true, "mirrors.apt of the settings", "", ""};
  }
  const auto is_network = [](const core::Feature& feature) { return feature.name == "network"; };
  if (std::ranges::none_of(features, is_network)) {
    features.push_back(
        {"network", false, "the launcher is older than this daemon",
         "sandboxes come up without a way out",
         "sudo cay launcher --data " + config_.data + " --stop, then start it again"});
  }
  features.push_back(gate_feature(config_.data, config_.gate_goes_by));
  features.push_back(vault_feature(config_.data));
  co_return std::move(features);
}

}  // namespace cay::runtime
