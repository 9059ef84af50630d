#include "keys_command.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "cli/values.h"
#include "codec/json.h"
#include "codec/time.h"
#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "local_audit.h"
#include "server/key_file.h"

namespace cay::app {
namespace {

constexpr double kMillisPerSecond = 1000;
constexpr const char* kOwn = "default";  // the data directory's own key

int say(const Error& error) { return fail("cay key", error); }

// The keys' file while nobody else of this command changes it.
class KeyBook {
 public:
  static Result<KeyBook> open(const std::string& dir) {
    UniqueFd lock(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock || ::flock(lock.get(), LOCK_EX) != 0) return Error::from_errno(errno, "open " + dir);
    CAY_TRY(server::KeyRing ring, server::load_keys(dir + "/keys"));
    return KeyBook(dir + "/keys", std::move(lock), std::move(ring));
  }

  Result<void> add(server::KeyRecord record) {
    if (record.name == kOwn)
      return Error{Code::kAlreadyExists, "key_name_in_use",
                   "the key named 'default' is the data directory's own: take another name", 0};
    CAY_CHECK(ring_.add(std::move(record)));
    return server::save_keys(path_, ring_.records());
  }
  // Changes the key of this name, or removes it if `change` returns false.
  template <class Change>
  Result<void> change(const std::string& name, Change change) {
    auto records = ring_.records();
    const auto found = std::ranges::find(records, name, &server::KeyRecord::name);
    if (found == records.end() && name == kOwn)
      return Error{Code::kInvalidArgument, "own_key",
                   "the key named 'default' is the data directory's own, and stays: `cay key "
                   "rotate default` writes another one in its place",
                   0};
    if (found == records.end())
      return Error{Code::kNotFound, "no_such_key",
                   "there is no key named '" + name + "': `cay key list` names them", 0};
    if (!change(*found)) records.erase(found);
    return server::save_keys(path_, records);
  }
  const std::vector<server::KeyRecord>& records() const { return ring_.records(); }

 private:
  KeyBook(std::string path, UniqueFd lock, server::KeyRing ring)
      : path_(std::move(path)), lock_(std::move(lock)), ring_(std::move(ring)) {}
  std::string path_;
  UniqueFd lock_;
  server::KeyRing ring_;
};

// The value of --expires: not given, never, or a moment.
struct Ending {
  bool said = false;
  std::optional<UnixMillis> at;
};

// "30d" from now, in whole seconds, as the file has it. Nothing: it was none, or 0.
Result<std::optional<UnixMillis>> moment(const std::string& from_now) {
  if (from_now.empty()) return std::optional<UnixMillis>();
  CAY_TRY(const double seconds, cli::parse_duration(from_now));
  if (seconds == 0) return std::optional<UnixMillis>();
  const UnixMillis at = system_clock().wall() + static_cast<UnixMillis>(seconds * kMillisPerSecond);
  return std::optional<UnixMillis>(at - at % static_cast<UnixMillis>(kMillisPerSecond));
}

Result<Ending> ending(const std::string& expires) {
  Ending out{.said = !expires.empty(), .at = {}};
  if (expires == "never") return out;
  auto at = moment(expires);
  if (!at) {
    at.error().message += ", or never";
    return std::move(at).error();
  }
  out.at = *at;
  return out;
}

int show_new(const std::string& key, const std::string& of_the_old = "") {
  std::printf("%s\n", key.c_str());
  std::fprintf(stderr,
               "cay key: shown once; only its hash is kept. A running daemon takes it at once.\n%s",
               of_the_old.c_str());
  return 0;
}

// Returns the end of the grace of a rotated key's former half, or nothing if it is over.
std::optional<UnixMillis> old_until(const server::KeyRecord& record, UnixMillis now) {
  if (!record.older || !record.lives(now) || record.older->until <= now) return std::nullopt;
  return record.older->until;
}

struct NewKey {
  std::string name, tenant = "default", scope, sandbox, expires;
};

Result<server::KeyRecord> record_of(const NewKey& wanted) {
  server::KeyRecord record{.name = wanted.name, .tenant = wanted.tenant};
  const std::string scope = !wanted.scope.empty()    ? wanted.scope
                            : wanted.sandbox.empty() ? "create"
                                                     : "use";
  const auto known = scope_of(scope);
  if (!known)
    return Error{Code::kInvalidArgument, "bad_key_scope",
                 "'" + scope + "' is no scope: take admin, create, read, use or monitor", 0};
  record.scope = *known;
  if (!wanted.sandbox.empty()) {
    if (!is_uuid(wanted.sandbox)) {
      return Error{Code::kInvalidArgument, "bad_key_scope",
                   "--sandbox takes a sandbox's id, as `cay ls --json` shows it: a name may be "
                   "another sandbox's tomorrow",
                   0};
    }
    record.only = SandboxId(wanted.sandbox);
  }
  if (record.scope == KeyScope::kUse && !record.only) {
    return Error{Code::kInvalidArgument, "bad_key_scope",
                 "a key of the scope use is for one sandbox: give --sandbox ID", 0};
  }
  CAY_TRY(const Ending over, ending(wanted.expires));
  record.expires = over.at;
  return record;
}

// Writes an audit line. A line that cannot be written undoes nothing. A removal has its line before
// it is done, as in the daemon: after a kill in between there is a line too many. A new key is
// printed after its line.
void note(const std::string& dir, bool audit, const char* event, const std::string& name,
          codec::json::object what = {}) {
  if (!audit) return;
  what["event"] = event;
  what["name"] = name;
  const auto noted = note_locally(dir, std::move(what));
  if (!noted)
    std::fprintf(stderr, "cay key: audit.log has no line of this: %s\n",
                 noted.error().message.c_str());
}

codec::json::object rights_of(const server::KeyRecord& record) {
  codec::json::object out{{"tenant", record.tenant}, {"scope", text_of(record.scope)}};
  if (record.only) out["sandbox"] = record.only->get();
  if (record.expires) out["expires"] = codec::rfc3339(*record.expires);
  return out;
}

int create(const std::string& dir, bool audit, const NewKey& wanted) {
  auto record = record_of(wanted);
  if (!record) return say(record.error());
  const std::string key = server::new_key();
  record->hash = server::hash_key(key);
  record->since = system_clock().wall();
  auto book = KeyBook::open(dir);
  if (!book) return say(book.error());
  if (auto added = book->add(*record); !added) return say(added.error());
  note(dir, audit, "key_created", record->name, rights_of(*record));
  return show_new(key);
}

// It has no line among the others: the file has it in clear, for `cay` on this host.
int rotate_own(const std::string& dir, bool audit, const std::string& grace,
               const std::string& expires) {
  const auto until = moment(grace);
  if (!until) return say(until.error());
  if (*until || !expires.empty()) {
    return say(Error{Code::kInvalidArgument, "own_key",
                     "the data directory's own key has neither a grace nor an end: make one that "
                     "has, with `cay key create NAME --scope admin --expires 30d`",
                     0});
  }
  auto book = KeyBook::open(dir);
  if (!book) return say(book.error());
  note(dir, audit, "key_rotated", kOwn,
       codec::json::object{{"tenant", "default"}, {"scope", text_of(KeyScope::kAdmin)}});
  const auto key = server::replace_key_file(dir + "/api-key");
  if (!key) {
    note(dir, audit, "key_not_rotated", kOwn, codec::json::object{{"reason", key.error().message}});
    return say(key.error());
  }
  std::printf("%s\n", key->c_str());
  std::fprintf(
      stderr,
      "cay key: %s/api-key has it. A running daemon takes it at once, and refuses the old one and "
      "the links that it made; one that was given CAY_API_KEY goes on with that.\n",
      dir.c_str());
  return 0;
}

int rotate(const std::string& dir, bool audit, const std::string& name, const std::string& grace,
           const std::string& expires) {
  const auto until = moment(grace);
  if (!until) return say(until.error());
  const auto over = ending(expires);
  if (!over) return say(over.error());
  auto book = KeyBook::open(dir);
  if (!book) return say(book.error());
  const std::string key = server::new_key();
  std::optional<Error> refused;
  std::string of_the_old;
  codec::json::object rights;
  bool noted = false;
  const auto changed = book->change(name, [&](server::KeyRecord& record) {
    const UnixMillis now = system_clock().wall();
    if (!record.lives(now) && !over->said) {
      refused =
          Error{Code::kInvalidArgument, "key_is_over",
                "the time of '" + name +
                    "' is over, and a new key would end with it: give --expires, as --expires 30d",
                0};
      return true;
    }
    const bool third = old_until(record, now).has_value();
    record.older.reset();
    // An older key never outlives what the key itself was given, before or now.
    if (*until)
      record.older = server::KeyRecord::Older{
          record.hash, record.expires ? std::min(**until, *record.expires) : **until};
    record.hash = server::hash_key(key);
    if (over->said) record.expires = over->at;
    if (record.older && record.expires)
      record.older->until = std::min(record.older->until, *record.expires);
    const auto opens = old_until(record, now);
    rights = rights_of(record);
    if (opens) rights["old_one_until"] = codec::rfc3339(*opens);
    // A holder of the old half keeps its links too. With a grace both go on until they are
    // withdrawn.
    if (!opens) record.older.reset();
    if (!opens) record.since = now;
    of_the_old =
        opens ? "cay key: the old one opens until " + codec::rfc3339(*opens) +
                    " and is refused from then on.\n"
              : "cay key: the old one, and the links that it made, are refused from now on.\n";
    if (third)
      of_the_old += "cay key: the one before it, which was still let in, is refused from now on.\n";
    note(dir, audit, "key_rotated", name, std::move(rights));
    noted = true;
    return true;
  });
  if (!changed && noted)
    note(dir, audit, "key_not_rotated", name,
         codec::json::object{{"reason", changed.error().message}});
  if (!changed) return say(changed.error());
  if (refused) return say(*refused);
  return show_new(key, of_the_old);
}

int list(const std::string& dir) {
  auto ring = server::load_keys(dir + "/keys");
  if (!ring) return say(ring.error());
  const UnixMillis now = system_clock().wall();
  const bool has_own = ::access((dir + "/api-key").c_str(), F_OK) == 0;  // none of the ring's
  if (has_own || !ring->records().empty())
    std::printf("%-24s %-16s %-8s %-25s %-25s %s\n", "NAME", "TENANT", "SCOPE", "EXPIRES",
                "OLD ONE UNTIL", "SANDBOX");
  if (has_own)
    std::printf("%-24s %-16s %-8s %-25s %-25s %s\n", kOwn, "default", "admin", "never", "-", "-");
  for (const auto& record : ring->records()) {
    const std::string over = !record.expires     ? "never"
                             : record.lives(now) ? codec::rfc3339(*record.expires)
                                                 : "over";
    const auto opens = old_until(record, now);
    const std::string old = opens ? codec::rfc3339(*opens) : "-";
    std::printf("%-24s %-16s %-8s %-25s %-25s %s\n", record.name.c_str(), record.tenant.c_str(),
                std::string(text_of(record.scope)).c_str(), over.c_str(), old.c_str(),
                record.only ? record.only->get().c_str() : "-");
  }
  return 0;
}

int remove(const std::string& dir, bool audit, const std::string& name) {
  auto book = KeyBook::open(dir);
  if (!book) return say(book.error());
  bool noted = false;
  const auto removed = book->change(name, [&](server::KeyRecord& record) {
    note(dir, audit, "key_removed", name, rights_of(record));
    noted = true;
    return false;
  });
  if (!removed && noted)
    note(dir, audit, "key_not_removed", name,
         codec::json::object{{"reason", removed.error().message}});
  if (!removed) return say(removed.error());
  return 0;
}

}  // namespace

int key_command(int argc, char** argv) {
  CLI::App app{"Keys of the daemon's API, made and removed on its own machine.", "cay key"};
  app.footer(
      "Scopes, from much to little:\n"
      "  admin    also the host: drain, and what the data directory's own key may\n"
      "  create   everything with the sandboxes of its tenant (the default)\n"
      "  read     looks at them, their commands, output and files; changes nothing\n"
      "  use      commands, files, tunnels and links of one sandbox; the others are not there\n"
      "  monitor  looks at the host: /metrics and doctor; at nothing of a tenant's\n\n"
      "Examples:\n"
      "  sudo cay key create laptop                        prints a new key, once\n"
      "  sudo cay key create ci --tenant ci --expires 30d  its sandboxes are its own, for a month\n"
      "  sudo cay key create laptop2 --expires never       said, not left out; 0 is the same\n"
      "  sudo cay key create prometheus --scope monitor\n"
      "  sudo cay key create bot --sandbox 6f1c2a0e-8d54-4a43-9a55-0f6a8f0f3b11\n"
      "  sudo cay key rotate ci --grace 1d                 a new key; the old one opens for a day\n"
      "  sudo cay key rotate ci                            the old one, and its links, open "
      "nothing from now on\n"
      "  sudo cay key rotate default                       the data directory's own: DATA/api-key\n"
      "  sudo cay keys                                     what there is; also cay key list, cay "
      "key ls\n"
      "  sudo cay key remove laptop                        also rm, revoke, delete");
  std::string config, dir, name, grace, renewed;
  NewKey wanted;
  app.add_option(
      "--config", config,
      "the daemon's settings; server.data is read (default /etc/cay/cay.toml if it is there)");
  app.add_option("--data", dir,
                 "the daemon's data directory (default: that of the settings, else " +
                     default_data_dir() + ")");
  const bool shows = argc > 0 && std::string_view(argv[0]) == "keys";
  app.require_subcommand(shows ? 0 : 1, 1);
  auto* make = app.add_subcommand("create", "make a key and print it")->alias("new")->alias("add");
  make->add_option("name", wanted.name, "what the key is called in logs and as created_by")
      ->required();
  make->add_option("--tenant", wanted.tenant, "whose sandboxes it sees")->capture_default_str();
  make->add_option("--scope", wanted.scope,
                   "admin, create, read, use or monitor (default: create; with --sandbox: use)");
  make->add_option("--sandbox", wanted.sandbox, "the id of the one sandbox that it is for");
  make->add_option("--expires", wanted.expires,
                   "it is let in for so long from now: 90, 10m, 12h, 30d; never or 0: until it is "
                   "removed (default)");
  auto* renew = app.add_subcommand(
      "rotate", "print a new key in place of one, with the same name and rights");
  renew->add_option("name", name, "the key's name")->required();
  renew->add_option("--grace", grace,
                    "the old key opens for so long from now; 0: not at all (default)");
  renew->add_option("--expires", renewed,
                    "its new end, from now; never or 0: none (default: the end it had)");
  auto* show = app.add_subcommand("list", "names, tenants, scopes and ends")->alias("ls");
  auto* drop =
      app.add_subcommand("remove", "forget a key")->alias("rm")->alias("revoke")->alias("delete");
  drop->add_option("name", name, "the key's name")->required();
  for (auto* sub : {make, renew, show, drop})
    sub->fallthrough();  // --data and --config, on either side of it
  if (const auto over = parse_words(app, argc, argv)) return *over;
  if (auto settled = settle_data_dir(config, dir); !settled) return say(settled.error());
  Config settings;
  const bool audit = config.empty() || !load_config(config, settings) || settings.audit;
  if (make->parsed()) return create(dir, audit, wanted);
  if (renew->parsed())
    return name == kOwn ? rotate_own(dir, audit, grace, renewed)
                        : rotate(dir, audit, name, grace, renewed);
  if (show->parsed() || app.get_subcommands().empty()) return list(dir);
  if (drop->parsed()) return remove(dir, audit, name);
  return kFailure;
}

}  // namespace cay::app
