// The core's verbs, as facades see them. One facade use case = one call here. Everything runs on
// the daemon's one loop. `ref` is a sandbox's id or name.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task.h"
#include "base/ip_address.h"
#include "base/metrics.h"
#include "core/ports/runtime.h"
#include "core/ports/store.h"
#include "core/profiles.h"
#include "model/link.h"
#include "model/principal.h"
#include "model/trace.h"
#include "policy/catalogue.h"

namespace cay::core {

struct HostLimits {
  std::uint32_t max_sandboxes = 1000;                 // per tenant, all states
  std::uint64_t memory_reserve_bytes = 512ull << 20;  // never given to sandboxes
  std::uint64_t disk_reserve_bytes = 1ull << 30;
  double memory_overcommit = 4.0;  // sum of running limits / (host memory - reserve)
  double cpu_overcommit = 64.0;    // agents mostly wait; the memory is the real guard
  std::uint32_t max_parallel_boots = 8;
  std::uint64_t answer_bytes =
      512ull
      << 20;  // of whole answers that are being made or sent; less where there is less memory
};

struct Defaults {
  Limits limits{
      .cpu_millicores = 1000, .memory_bytes = 2ull << 30, .disk_bytes = 8ull << 30, .pids = 4096};
  Limits maximum{.cpu_millicores = 16'000,
                 .memory_bytes = 64ull << 30,
                 .disk_bytes = 256ull << 30,
                 .pids = 32'768};
  std::int64_t idle_ttl_s = 600;
  std::int64_t delete_after_stop_s = 14 * 86'400;
  std::string policy = "packages";  // as a client would write it
  std::shared_ptr<const policy::Catalogue> policies =
      std::make_shared<const policy::Catalogue>();  // the named ones, and which are allowed
  std::vector<Network> networks{};                  // special ranges that the operator opens
  std::function<bool(const IpAddress&)>
      is_own_address{};  // true for an address of this host; called on any thread; empty: none is
  Profiles profiles{};
};

struct CreateOptions {
  bool wait_for_ready = true;
  std::chrono::milliseconds timeout{30'000};  // with wait: kDeadlineExceeded, and nothing is left
};

// A running command's reader plus what keeps the sandbox awake meanwhile.
using Reader = std::unique_ptr<CommandReader>;

// The sandboxes to remove: the named ones, and those with all of these labels (`every`: all).
struct RemovalQuery {
  std::vector<std::string> refs;
  std::vector<std::pair<std::string, std::optional<std::string>>> labels;
  bool every = false;
};
struct Removal {
  std::string ref;  // as in the request, or the name
  Result<void> done;
};

class Sandboxes {
 public:
  virtual ~Sandboxes() = default;
  virtual Task<Sandbox> create(Principal who, SandboxSpec spec, CreateOptions options) = 0;
  virtual Task<Sandbox> get(Principal who, std::string ref) = 0;
  virtual Task<SandboxPage> list(Principal who, SandboxQuery query) = 0;
  virtual Task<Sandbox> update(Principal who, std::string ref, SandboxPatch patch) = 0;
  // From stopped or failed: returns at once in kProvisioning; already ready: as it is; paused:
  // resumes.
  virtual Task<Sandbox> start(Principal who, std::string ref) = 0;
  virtual Task<void> stop(Principal who,
                          std::string ref) = 0;  // done when it returns (seconds at most)
  // Holds what runs still, with its memory; done when it returns. From ready only; paused: as it
  // is.
  virtual Task<Sandbox> pause(Principal who, std::string ref) = 0;
  virtual Task<Sandbox> resume(Principal who, std::string ref) = 0;  // from paused; ready: as it is
  virtual Task<void> remove(Principal who, std::string ref) = 0;     // any state
  // Removes many at once, each for itself. The result has the order of the request.
  virtual Task<std::vector<Removal>> remove_all(Principal who, RemovalQuery query) = 0;
  virtual Task<UsageSummary> usage(Principal who) = 0;
  virtual Task<std::vector<SnapshotInfo>> snapshots(Principal who) = 0;
  virtual Task<SandboxStats> stats(Principal who, std::string ref) = 0;
  // Reads the program record, in any state, without waking the sandbox. Fails kNotFound
  // (programs_not_recorded).
  virtual Task<ProgramPage> programs(Principal who, std::string ref, std::uint64_t offset,
                                     std::uint32_t limit) = 0;
  // Reports the connections that it tried, in any state, without waking it.
  virtual Task<NetworkReport> network(Principal who, std::string ref) = 0;
  // Returns decisions one by one. Waits up to `wait` until there is one. Fails kOutOfRange
  // (decision_ahead).
  virtual Task<DecidedPage> decisions(Principal who, std::string ref, DecidedQuery query,
                                      std::chrono::milliseconds wait) = 0;
  virtual Task<PolicyList> policies(Principal who) = 0;
  // A dry run. Names are not resolved, so rules about addresses count for addresses alone.
  virtual Task<PolicyTrial> try_policy(Principal who, PolicyQuestion question) = 0;
};

// All of these wake a stopped sandbox first (concurrent wakes are one), and fail kNotReady if they
// cannot. A paused one stays paused: no command starts in it (kNotReady, sandbox_paused). Its
// commands can be read, written to and killed, and file calls go on.
class Commands {
 public:
  virtual ~Commands() = default;
  // For facades that need the result before they answer. Fails draining or sandbox_paused where a
  // command can neither start nor be attached to.
  virtual Task<void> wake(Principal who, std::string ref) = 0;
  virtual Task<Command> start(Principal who, std::string ref, CommandSpec spec) = 0;
  // start + attach from 0 as one verb, with no gap between them.
  virtual Task<Reader> run(Principal who, std::string ref, CommandSpec spec) = 0;
  // Attaches to a command, also of a stopped sandbox (from the spools), without waking it.
  virtual Task<Reader> attach(Principal who, std::string ref, CommandId id, OutputOffsets from) = 0;
  // `more`: there is more behind it, or its end: see LiveSandbox::write_stdin (ports/runtime.h).
  virtual Task<void> write_stdin(Principal who, std::string ref, CommandId id, Bytes data,
                                 bool more) = 0;
  virtual Task<void> close_stdin(Principal who, std::string ref, CommandId id) = 0;
  virtual Task<void> kill(Principal who, std::string ref, CommandId id, int signal) = 0;
  virtual Task<void> resize(Principal who, std::string ref, CommandId id, PtySize size) = 0;
  virtual Task<Command> get(Principal who, std::string ref, CommandId id) = 0;
  virtual Task<std::vector<Command>> list(Principal who, std::string ref) = 0;
  virtual Task<void> forget(Principal who, std::string ref, CommandId id) = 0;
};

class Files {
 public:
  virtual ~Files() = default;
  virtual Task<FileInfo> stat(Principal who, std::string ref, std::string path, FileAs as,
                              bool follow) = 0;
  virtual Task<FileStream> read(Principal who, std::string ref, std::string path, FileAs as,
                                ReadRange range) = 0;
  virtual Task<FileInfo> write(Principal who, std::string ref, std::string path,
                               WriteOptions options, std::unique_ptr<ByteSource> data) = 0;
  virtual Task<std::vector<FileInfo>> list(Principal who, std::string ref, std::string path,
                                           FileAs as) = 0;
  virtual Task<void> make_directory(Principal who, std::string ref, std::string path, FileAs as,
                                    std::uint32_t mode) = 0;
  virtual Task<void> remove(Principal who, std::string ref, std::string path, FileAs as,
                            bool recursive) = 0;
  virtual Task<void> rename(Principal who, std::string ref, std::string from, std::string to,
                            FileAs as) = 0;
  virtual Task<GlobResult> glob(Principal who, std::string ref, std::string root,
                                std::string pattern, FileAs as, std::uint32_t limit) = 0;
  virtual Task<GrepResult> grep(Principal who, std::string ref, std::string root, std::string text,
                                std::string file_glob, FileAs as, std::uint32_t limit) = 0;
  virtual Task<std::unique_ptr<TreeSource>> read_tree(Principal who, std::string ref,
                                                      std::string path, FileAs as) = 0;
  virtual Task<void> write_tree(Principal who, std::string ref, std::string path, FileAs as,
                                std::unique_ptr<TreeSource> tree) = 0;
};

// TCP into a sandbox, to what listens on its own loopback and nowhere else.
class Tunnels {
 public:
  virtual ~Tunnels() = default;
  // One connection; it wakes the sandbox, and keeps it awake while it lives. kInvalidArgument
  // (invalid_port); kNotReady (sandbox_paused); else as LiveSandbox::open_tunnel. A connection that
  // is open when its sandbox is paused waits for the resume.
  virtual Task<std::unique_ptr<Tunnel>> open(Principal who, std::string ref,
                                             std::uint16_t port) = 0;
  // Wakes the sandbox and keeps it awake for as long as the result lives: for a session of many
  // connections. Fails kNotReady (sandbox_paused) for a paused one.
  virtual Task<std::shared_ptr<void>> hold(Principal who, std::string ref) = 0;
};

// A link that was just made, with its token: there is no other time to see it.
struct IssuedLink {
  Link link;
  std::string token;
};
// Set once: what is open through the link is to be cut, and why.
class LinkEnd : public Event {
 public:
  using Event::Event;
  void end(Error why) {
    why_ = std::move(why);
    set();
  }
  const Error& why() const { return why_; }

 private:
  Error why_{Code::kCancelled, "link_withdrawn", "the link was withdrawn", 0};
};

// A link in use. `ended` is set when it is withdrawn, or its sandbox goes; when its time has passed
// (a service's), or its key is gone, by end_lapsed().
struct OpenLink {
  Link link;
  std::shared_ptr<LinkEnd> ended;
};

// Rights to one service or one file of a sandbox, for whoever has a token. They wake nothing by
// themselves.
class Links {
 public:
  virtual ~Links() = default;
  // kInvalidArgument (invalid_expiry, invalid_link, invalid_content_type), kExhausted
  // (too_many_links).
  virtual Task<IssuedLink> issue(Principal who, std::string ref, LinkSpec spec) = 0;
  // Those that can be used, oldest first.
  virtual Task<std::vector<Link>> list(Principal who, std::string ref) = 0;
  virtual Task<void> withdraw(Principal who, std::string ref,
                              LinkId id) = 0;  // kNotFound (link_not_found)
  // Withdraws the links of one port (0: of files), or all, and returns their number.
  virtual Task<std::uint32_t> withdraw_all(Principal who, std::string ref,
                                           std::optional<std::uint16_t> port) = 0;
  // Returns what a token opens at this sandbox and port (0: a file). Fails kUnauthenticated
  // (unknown_link), also for a token of another sandbox or port, and kPermissionDenied
  // (link_expired).
  virtual Result<OpenLink> use(std::string_view token, const SandboxId& sandbox,
                               std::uint16_t port) = 0;
  // Looks at what is in use: called as often as an end may be late. `key_lives`: whether the key
  // that made it still could.
  virtual void end_lapsed(const std::function<bool(const Link& link)>& key_lives) = 0;
};

// Secrets that users keep with Cay and nobody can read again (docs/decisions/0023-the-vault.md).
// Values come closed (model/sealed_box.h) for public_key(), about the secret's name.
class Secrets {
 public:
  virtual ~Secrets() = default;
  // kUnsupported (vault_unsupported), kUnavailable (vault_unavailable): as all of these.
  virtual Task<std::string> public_key(Principal who) = 0;
  // A new one, or another value of one that is there; without `hosts` it keeps those it has.
  // Sandboxes with rules for it use it from then on. kInvalidArgument (invalid_secret,
  // bad_envelope), kExhausted (too_many_secrets).
  virtual Task<SecretInfo> set(Principal who, std::string name,
                               std::optional<std::vector<std::string>> hosts, std::string box) = 0;
  virtual Task<std::vector<SecretInfo>> list(Principal who) = 0;
  // Removes a secret, which refuses its users from then on. Returns those of the tenant. Fails
  // kNotFound (secret_not_found).
  virtual Task<std::vector<SecretUser>> remove(Principal who, std::string name) = 0;
  // Seals all tenants' by new keys, and forgets the old ones. How many there were.
  virtual Task<std::uint32_t> rotate_key(Principal who) = 0;
};

struct DrainStatus {
  bool draining = false;
  std::uint32_t running_sandboxes = 0;
  std::uint32_t running_commands = 0;
  std::uint32_t silent_sandboxes = 0;  // running, but not counted: their keepers did not answer
};

// For the operator's key alone (kPermissionDenied, not_operator), and about all tenants.
class Drain {
 public:
  virtual ~Drain() = default;
  // While on, creates, starts, wakes and new commands fail with kUnavailable (draining). Off at
  // every start.
  virtual Task<DrainStatus> set(Principal who, bool draining) = 0;
  virtual Task<DrainStatus> status(Principal who) = 0;
  virtual Task<DrainStatus> stop_all(Principal who) = 0;
};

// Events in order, numbered without holes for each tenant (model/event.h).
class Events {
 public:
  virtual ~Events() = default;
  // kOutOfRange (event_ahead). `query.sandbox`: id or name.
  virtual Task<EventPage> read(Principal who, EventQuery query) = 0;
  // Like list(), and waits up to `wait` until there is an item or a gap to report.
  virtual Task<EventPage> follow(Principal who, EventQuery query,
                                 std::chrono::milliseconds wait) = 0;
  // From now on follow() does not wait, and ended() is true: the daemon ends.
  virtual void end() = 0;
  virtual bool ended() const = 0;
  // Returns at the end of the daemon, for streams that have a last message. May outlive this
  // object.
  virtual asio::awaitable<void> until_ended() = 0;
};

// The present use of one running sandbox, and the bytes that it has moved.
struct SandboxUse {
  Sandbox sandbox;
  SandboxStats stats;
  UsageTotals totals;
};

// The use of sandboxes, over all their starts (core/meter.h describes the counting).
class Usage {
 public:
  virtual ~Usage() = default;
  virtual Task<UsageTotals> of(Principal who, std::string ref) = 0;
  // The tenant's, deleted sandboxes too, by the labels they have or had last.
  virtual Task<UsageReport> report(Principal who, UsageQuery query) = 0;
  virtual Task<std::vector<SandboxUse>> now(Principal who) = 0;
};

class AnswerRoom;

// The core as facades see it. Built by make_core (core/make_core.h).
class Cay {
 public:
  virtual ~Cay() = default;
  virtual Sandboxes& sandboxes() = 0;
  virtual Commands& commands() = 0;
  virtual Files& files() = 0;
  virtual Tunnels& tunnels() = 0;
  virtual Links& links() = 0;
  virtual Secrets& secrets() = 0;
  virtual Drain& drain() = 0;
  virtual Events& events() = 0;
  virtual Usage& usage() = 0;
  virtual Runtime& runtime() = 0;  // features for doctor only
  virtual Metrics& metrics() = 0;
  virtual AnswerRoom& answers() = 0;
  // Sets a function that is called with each finished span: creations and commands of sampled
  // traces. Without it there are no spans, and commands get the caller's own trace context.
  virtual void on_span(std::function<void(Span)> called) = 0;

  // Whether requests can be served now, and if not, what is in the way.
  struct Check {
    std::string name;
    bool ok = false;
    std::string detail;  // what is wrong, and what to do
  };
  virtual std::vector<Check> readiness() = 0;

  // Prepares the default snapshot, adopts what lives, marks what died, removes what nobody owns.
  virtual Task<void> open(std::function<void(std::string)> progress) = 0;
  // First of a polite end, while connections of clients are still open: see Runtime::part().
  virtual void part() = 0;
  // Ends politely: timers stop and connections to keepers close. Sandboxes live on unless
  // `stop_sandboxes`.
  virtual Task<void> close(bool stop_sandboxes) = 0;
};

}  // namespace cay::core
