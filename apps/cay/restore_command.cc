#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backup_command.h"
#include "archive/tree_file.h"
#include "base/clock.h"
#include "broker_process.h"
#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "disk_store.h"
#include "launcher/record.h"
#include "launcher/slots.h"
#include "launcher/validate.h"
#include "gate_process.h"
#include "launcher_process.h"
#include "os/file.h"
#include "restored_trees.h"
#include "server/key_file.h"
#include "snapshot_layers.h"
#include "store/backup.h"
#include "wire/vault.h"

namespace cay::app {
namespace {

constexpr std::int64_t kFormat = 4;
constexpr std::int64_t kWithDigests = 4;  // the first format that has them
constexpr const char* kIncoming = "state.db.incoming";

Error needs_snapshots() {
  return {Code::kInvalidArgument, "needs_snapshots",
          "this backup has no snapshots (`cay backup --without-snapshots`): give --snapshots-of "
          "DIR, the data directory that it was made of, wherever "
          "it lies now",
          0};
}

struct Manifest {
  UnixMillis taken_at = 0;
  std::set<std::string> sandboxes;  // ids
  bool digests = false;             // its last entry has those of its trees
};

// `snapshots_told`: where they are, should the backup have none.
Result<Manifest> check_manifest(const std::string& name, const std::string& bytes,
                                bool snapshots_told) {
  if (name != "cay-backup.json") return not_a_backup("it does not begin with cay-backup.json");
  boost::json::error_code failed;
  const auto parsed = boost::json::parse(bytes, failed);
  const auto* object = failed ? nullptr : parsed.if_object();
  const auto* format = object != nullptr ? object->if_contains("format") : nullptr;
  const auto* taken = object != nullptr ? object->if_contains("taken_at") : nullptr;
  if (format == nullptr || !format->is_int64() || taken == nullptr || !taken->is_int64())
    return not_a_backup("cay-backup.json cannot be read");
  if (format->get_int64() > kFormat) {
    return Error{Code::kUnsupported, "backup_too_new",
                 "a newer Cay made this backup: restore it with that one", 0};
  }
  const auto* with = object->if_contains("with_snapshots");
  if (with != nullptr && with->is_bool() && !with->get_bool() && !snapshots_told)
    return needs_snapshots();
  Manifest out{taken->get_int64(), {}, format->get_int64() >= kWithDigests};
  const auto* listed = object->if_contains("sandboxes");
  const auto* items = listed != nullptr ? listed->if_array() : nullptr;
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const auto* item = items->at(i).if_object();
    const auto* id = item != nullptr ? item->if_contains("id") : nullptr;
    if (id != nullptr && id->is_string()) out.sandboxes.insert(std::string(id->get_string()));
  }
  return out;
}

// Checks the backup's beginning before anything is made. A pipe cannot be read twice, so its
// contents are checked on the way.
Result<Manifest> check_head(int file, bool snapshots_told) {
  if (::lseek(file, 0, SEEK_CUR) < 0) return Manifest{};
  auto first = archive::first_of_tar(file);
  if (!first) return not_a_backup(first.error().message);
  CAY_TRY(Manifest manifest, check_manifest(first->first, first->second, snapshots_told));
  if (::lseek(file, 0, SEEK_SET) != 0) return Error::from_errno(errno, "read the backup");
  return manifest;
}

// The directory to restore into: one that is not there yet, or an empty one. The destructor removes
// the entries that this run made, unless they are kept, and nothing else.
class Target {
 public:
  static Result<Target> claim(const std::string& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) {
      if (errno != ENOENT) return Error::from_errno(errno, "look at " + path);
      return Target(path, std::nullopt);
    }
    CAY_TRY(const UniqueFd dir, os::open_dir(AT_FDCWD, path));
    CAY_TRY(const auto names, os::list_dir(dir.get()));
    if (names.empty()) return Target(path, found);
    CAY_CHECK(check_restored(path));
    const bool state = std::find(names.begin(), names.end(), "state.db") != names.end();
    return Error{Code::kAlreadyExists, "data_dir_in_use",
                 path + (state ? " holds state already" : " is not empty") +
                     ": move it away, or choose another --data",
                 0};
  }
  Target(Target&& other) noexcept : path_(std::exchange(other.path_, {})), before_(other.before_) {}
  Target& operator=(Target&&) = delete;
  ~Target() { (void)undo(); }
  // Fails where something of it is left.
  Result<void> undo() {
    const std::string path = std::exchange(path_, {});
    if (path.empty()) return {};
    if (!before_) return os::remove_tree(AT_FDCWD, path);
    CAY_TRY(const UniqueFd dir, os::open_dir(AT_FDCWD, path));
    CAY_TRY(const auto names, os::list_dir(dir.get()));
    Result<void> done;
    for (const std::string& name : names) {
      auto gone = os::remove_tree(dir.get(), name);
      if (!gone && done) done = std::move(gone);
    }
    (void)!::fchown(dir.get(), before_->st_uid, before_->st_gid);
    (void)!::fchmod(dir.get(), before_->st_mode & 07777);
    return done;
  }
  void keep() { path_.clear(); }

 private:
  Target(std::string path, std::optional<struct stat> before)
      : path_(std::move(path)), before_(before) {}
  std::string path_;
  std::optional<struct stat> before_;  // of an empty directory that was there
};

// Returns the spool directory of a keeper's process (DATA/spool/ID), nothing if it is no keeper.
// The keeper's own descriptor leads there, also if DATA was moved.
std::optional<std::filesystem::path> spool_of_keeper(const std::filesystem::path& process) {
  namespace fs = std::filesystem;
  // By its cgroup, which no guest chooses.
  const auto groups = os::read_file(AT_FDCWD, (process / "cgroup").string());
  if (!groups || groups->find("/keeper\n") == std::string::npos) return std::nullopt;
  std::error_code failed;
  for (const auto& fd : fs::directory_iterator(process / "fd", failed)) {
    std::error_code none;
    fs::path target = fs::read_symlink(fd.path(), none);
    if (!none && target.parent_path().filename() == "spool" &&
        launcher::is_uuid(target.filename().string()))
      return target;
  }
  return std::nullopt;
}

// The data directory where sandboxes of this backup live on without a launcher: nobody would ever
// end them.
std::string abandoned(const std::set<std::string>& ids) {
  std::error_code failed;
  for (const auto& process : std::filesystem::directory_iterator("/proc", failed)) {
    if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos)
      continue;
    const auto spool = spool_of_keeper(process.path());
    if (!spool || !ids.contains(spool->filename().string())) continue;
    std::string data = spool->parent_path().parent_path().string();
    if (!launcher_answers(data)) return data;
  }
  return {};
}

// A helper that is under a supervisor: it goes on, or is started again, whatever becomes of the
// directory that it serves.
struct Supervised {
  const char* word;  // what messages call it
  const char* name;  // of its process
  const char* mark;  // among its words only if it is supervised
};
constexpr Supervised kSupervised[] = {{kGate.word, kGate.user, "always"},
                                      {kBroker.word, kBroker.user, "always"},
                                      {"launcher", "cay-launcher", "--cgroup-parent"}};

bool has_words(const std::string& cmdline, const std::vector<std::string>& words) {
  const std::string bounded = std::string(1, '\0') + cmdline;
  for (const std::string& word : words) {
    if (bounded.find('\0' + word + '\0') == std::string::npos) return false;
  }
  return true;
}

// Guests and keepers may call themselves what they like.
bool of_a_sandbox(const std::filesystem::path& process) {
  const auto status = os::read_file(AT_FDCWD, (process / "status").string());
  const auto at = status ? status->find("\nUid:\t") : std::string::npos;
  return at == std::string::npos ||
         std::strtoul(status->c_str() + at + 6, nullptr, 10) >= launcher::kKeeperBase;
}

// Returns the process that still serves the directory which was at `data`, as "the gate (process
// 12)". It is empty if there is none. A unit that was not stopped holds the old directory by
// descriptors. It would not find the restored one, and would not let another process serve it.
std::string left_behind(const std::string& data) {
  std::error_code failed;
  for (const auto& process : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string pid = process.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos || of_a_sandbox(process.path()))
      continue;
    const auto name = os::read_file(AT_FDCWD, (process.path() / "comm").string());
    const auto words = os::read_file(AT_FDCWD, (process.path() / "cmdline").string());
    for (const Supervised& one : kSupervised) {
      const bool is_one = name && words && *name == std::string(one.name) + "\n" &&
                          has_words(*words, {"--data", data, one.mark});
      if (is_one) return std::string("the ") + one.word + " (process " + pid + ")";
    }
  }
  return {};
}

class Restore {
 public:
  // `snapshots_of`: a data directory to take snapshots from; empty: those of the backup.
  Restore(DataDir data, DaemonUser user, std::string snapshots_of)
      : where_(std::move(data)), user_(std::move(user)), snapshots_of_(std::move(snapshots_of)) {}

  Result<void> run(int file) {
    CAY_TRY(data_, os::open_dir(AT_FDCWD, where_.path));
    CAY_TRY(spool_, os::open_dir(data_.get(), "spool"));
    CAY_TRY(layers_, os::open_dir(data_.get(), "layers"));
    CAY_TRY(records_, os::open_dir(data_.get(), "sandboxes"));
    CAY_TRY(disks_, DiskStore::open(where_.path));
    trees_.emplace(data_.get(), disks_);
    CAY_CHECK(archive::extract_tar(
        file, [this](const std::string& name) { return place(name); },
        [this](const std::string& name, std::string bytes) {
          return take(name, std::move(bytes));
        }));
    if (!manifest_) return not_a_backup("it has no cay-backup.json");
    open_.clear();
    if (manifest_->digests) {
      CAY_CHECK(trees_->check(digests_));
    }
    CAY_CHECK(trees_->seal_layers());
    const std::string incoming = where_.path + "/" + kIncoming;
    CAY_TRY(without_disk_,
            store::settle_restored(incoming,
                                   {system_clock().wall(), manifest_->taken_at, restored_disks_}));
    if (::renameat(data_.get(), kIncoming, data_.get(), "state.db") != 0)
      return Error::from_errno(errno, "put state.db in place");
    CAY_CHECK(own("state.db"));
    CAY_TRY(const auto sandboxes, store::sandboxes_in(where_.path + "/state.db"));
    CAY_CHECK(take_snapshots(sandboxes));
    CAY_TRY(const auto volumes, store::volumes_in(where_.path + "/state.db"));
    CAY_CHECK(trees_->limit_volumes(volumes));
    if (::faccessat(data_.get(), "api-key", F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
      CAY_CHECK(server::ensure_key_file(where_.path + "/api-key"));
      new_key_ = true;
    }
    for (const char* name : {"keys", "api-key", "tls", "tls/cert.pem", "tls/key.pem"}) {
      CAY_CHECK(own(name));
    }
    return {};
  }

  // Puts the key that opens the restored keyring into its place.
  Result<void> put_in_vault(const std::string& name, const std::string& bytes) {
    CAY_TRY(const DaemonUser broker, broker_user_of(where_.path));
    CAY_TRY(const UniqueFd vault,
            os::ensure_dir(data_.get(), "vault", broker.uid, broker.gid, 0711));
    CAY_CHECK(os::replace_file(vault.get(), name, bytes, 0600));
    if (::fchownat(vault.get(), name.c_str(), broker.uid, broker.gid, AT_SYMLINK_NOFOLLOW) != 0)
      return Error::from_errno(errno, "own vault/" + name);
    return {};
  }

  std::size_t sandboxes() const { return count_; }
  bool has_secrets() const { return secrets_; }
  bool has_new_key() const { return new_key_; }
  const std::vector<std::string>& without_disk() const { return without_disk_; }
  const std::vector<std::string>& without_snapshot() const { return without_snapshot_; }
  bool has_settings() const { return settings_; }

 private:
  enum class What : std::uint8_t { kPlain, kDisk, kLayer, kVolume };
  struct Kind {
    const char* prefix;
    const UniqueFd* parent;
    What what;
  };

  Result<archive::TarPlace> place(const std::string& name) {
    if (name != "cay-backup.json" && !manifest_)
      return not_a_backup("it does not begin with cay-backup.json");
    if (name == "state.db") return archive::TarPlace{data_.get(), "", kIncoming, -1};
    for (const Kind& kind :
         {Kind{"disks/", &disks_.dir, What::kDisk}, Kind{"spool/", &spool_, What::kPlain},
          Kind{"layers/", &layers_, What::kPlain}, Kind{"sealed/", &disks_.dir, What::kLayer},
          Kind{"volumes/", &disks_.dir, What::kVolume}}) {
      if (!name.starts_with(kind.prefix)) continue;
      const std::string rest = name.substr(std::string(kind.prefix).size());
      const std::string id = rest.substr(0, rest.find('/'));
      if (!launcher::is_uuid(id)) return not_a_backup("'" + name + "'");
      CAY_TRY(const int dir, directory_of(kind, id));
      std::string below = rest.size() > id.size() ? rest.substr(id.size() + 1) : std::string();
      return archive::TarPlace{dir, kind.prefix + id, std::move(below),
                               kind.parent == &spool_ ? std::int64_t{user_.gid} : -1};
    }
    return archive::TarPlace{};
  }

  // Made at the first of its entries: a disk is a subvolume where there is a pool.
  Result<int> directory_of(const Kind& kind, const std::string& id) {
    const std::string key = kind.prefix + id;
    const auto known = open_.find(key);
    if (known != open_.end()) return known->second.get();
    open_.clear();  // one after the other: no more than one is under way
    CAY_TRY(UniqueFd dir, made_directory(kind, id));
    return (open_[key] = std::move(dir)).get();
  }

  Result<UniqueFd> made_directory(const Kind& kind, const std::string& id) {
    switch (kind.what) {
      case What::kDisk: restored_disks_.insert(id); return trees_->make_disk(id, bases_[id]);
      case What::kLayer: return trees_->make_layer(id);
      case What::kVolume: return trees_->make_volume(id);
      case What::kPlain: break;
    }
    return make_plain_directory(kind.parent->get(), id);
  }

  Result<void> take_snapshots(const std::vector<store::StoredSandbox>& sandboxes) {
    if (!snapshots_of_.empty()) {
      CAY_TRY(const UniqueFd from, os::open_dir(AT_FDCWD, snapshots_of_));
      CAY_TRY(const UniqueFd layers, os::open_dir(from.get(), "layers"));
      auto ids = layers_of(from.get(), sandboxes);
      for (const std::string& id : trees_->layers()) {
        const auto stack = stack_in(data_.get(), id);
        ids.insert(stack.begin(), stack.end());
      }
      for (const std::string& id : ids) {
        const bool here = ::faccessat(layers_.get(), id.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (here || !launcher::is_uuid(id)) continue;
        CAY_CHECK(link_layer(layers.get(), layers_.get(), id));
      }
    }
    for (const auto& sandbox : sandboxes) {
      for (const std::string& id : layers_of(data_.get(), {sandbox})) {
        if (::faccessat(layers_.get(), id.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
        without_snapshot_.push_back(sandbox.name);
        break;
      }
    }
    return {};
  }

  Result<void> take(const std::string& name, std::string bytes) {
    if (name == "cay-backup.json") {
      CAY_TRY(manifest_, check_manifest(name, bytes, !snapshots_of_.empty()));
      return {};
    }
    if (name == "tls/cert.pem" || name == "tls/key.pem") {
      CAY_TRY(const UniqueFd tls, os::ensure_dir(data_.get(), "tls", user_.uid, user_.gid, 0700));
      return os::replace_file(tls.get(), name.substr(4), bytes,
                              name == "tls/key.pem" ? 0600 : 0644);
    }
    if (name == "vault/keyring") {
      CAY_CHECK(put_in_vault("keyring", bytes));
      secrets_ = true;
      return {};
    }
    // Backups of earlier releases have files that nothing reads any more.
    if (name.starts_with("vault/") && wire::is_former_vault_file(name.substr(6))) return {};
    if (name == "keys" || name == "api-key")
      return os::replace_file(data_.get(), name, bytes, 0600);
    if (name == "cay.toml") {
      settings_ = true;
      return os::replace_file(data_.get(), "cay.toml.restored", bytes, 0600);
    }
    if (name == "cay-digests.json") {
      digests_ = std::move(bytes);
      return {};
    }
    if (!name.starts_with("sandboxes/")) return not_a_backup("'" + name + "'");
    const std::string id = name.substr(std::string("sandboxes/").size());
    auto record = wire::decode<launcher::Record>(bytes);
    if (!launcher::is_uuid(id) || !record) return not_a_backup("'" + name + "'");
    record->alive = false;  // its keeper belongs to where the backup was taken
    record->boot_id.clear();
    record->mounted_layers.clear();
    record->mounted_volumes.clear();
    bases_[id] = record->snapshot_id;
    if (::mkdirat(records_.get(), id.c_str(), 0700) != 0)
      return Error::from_errno(errno, "record sandbox " + id);
    ++count_;
    return launcher::write_record(records_.get(), id, *record);
  }

  Result<void> own(const char* name) {
    if (::fchownat(data_.get(), name, user_.uid, user_.gid, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno != ENOENT) {
      return Error::from_errno(errno, std::string("own ") + name);
    }
    return {};
  }

  DataDir where_;
  DaemonUser user_;
  UniqueFd data_, spool_, layers_, records_;
  DiskStore disks_;
  std::map<std::string, UniqueFd> open_;
  std::optional<Manifest> manifest_;
  bool settings_ = false, secrets_ = false, new_key_ = false;
  std::size_t count_ = 0;
  std::set<std::string> restored_disks_;
  std::map<std::string, std::string> bases_;  // of sandboxes: the layer that each stands on
  std::optional<RestoredTrees> trees_;        // needs disks_
  std::string digests_;                       // of these trees, as the backup has them
  std::vector<std::string> without_disk_, without_snapshot_;
  std::string snapshots_of_;
};

int say(const Error& error) { return fail("cay restore", error); }

// Reports the failure of a restore that had begun, with the fate of the files that it made.
int give_up(Error error, Target& target, const std::string& data) {
  const auto undone = target.undo();
  error.message += undone ? ". Nothing was restored: what was made in " + data + " is removed again"
                          : ". Nothing was restored, and what was made in " + data +
                                " is still there (" + undone.error().message +
                                "): `sudo cay uninstall --purge --data " + data + "` removes it";
  return say(error);
}

}  // namespace

int restore_command(int argc, char** argv) {
  CLI::App app{"A backup into a new data directory.", "cay restore"};
  app.footer(
      "The directory must be new or empty, and no sandbox of what was there before may live. "
      "Sandboxes come back stopped, with their disks and the\n"
      "output of their commands; a command that ran when the backup was taken is lost.\n"
      "Examples:\n"
      "  cay drain --stop && systemctl stop cay cay-gate cay-broker cay-launcher; mv /var/lib/cay "
      "ELSEWHERE\n"
      "  sudo cay restore --vault-key ELSEWHERE/vault/key FILE && systemctl start cay    (all of "
      "them; without the key where a passphrase opens secrets)\n"
      "  sudo cay restore --data ./state --run-as alice FILE\n"
      "  sudo cay restore --snapshots-of /var/lib/cay.old FILE    (of a backup that was made "
      "--without-snapshots)");
  std::string file, dir, run_as, config, vault_key, snapshots_of;
  app.add_option(
      "--config", config,
      "the daemon's settings; server.data is read (default /etc/cay/cay.toml if it is there)");
  app.add_option("--data", dir,
                 "the data directory to make (default: that of the settings, else " +
                     default_data_dir() + ")");
  app.add_option("--run-as", run_as, "the daemon's user (default cay, if there is one)");
  app.add_option("--vault-key", vault_key,
                 "the file that opens the secrets: a copy of DATA/vault/key as it was then")
      ->check(CLI::ExistingFile);
  app.add_option("--snapshots-of", snapshots_of,
                 "for a backup without snapshots: the data directory that has them, on the same "
                 "file system")
      ->check(CLI::ExistingDirectory);
  app.add_option("FILE", file, "what `cay backup` made")->required();
  if (const auto over = parse_words(app, argc, argv)) return *over;
  if (::geteuid() != 0)
    return say({Code::kPermissionDenied, "needs_root",
                "disks hold files of every user: run it with sudo", 0});
  if (auto chosen = choose_data_dir(config, dir); !chosen) return say(chosen.error());
  const UniqueFd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) return say(Error::from_errno(errno, "open " + file));
  auto target = Target::claim(dir);
  if (!target) return say(target.error());
  const auto head = check_head(in.get(), !snapshots_of.empty());
  if (!head) {
    target->keep();
    return say(head.error());
  }
  auto user = daemon_user(run_as);
  if (!user) return say(user.error());
  if (const std::string left = abandoned(head->sandboxes); !left.empty()) {
    target->keep();
    return say({Code::kConflict, "sandboxes_live",
                "sandboxes of this backup still run, of " + left +
                    ", which no launcher serves: nobody would ever end them. `cay drain --stop` "
                    "before the daemon ends, `systemctl stop cay-sandboxes` (disks stay), or `cay "
                    "uninstall --purge --data " +
                    left + "` (nothing stays)",
                0});
  }
  std::error_code unresolved;
  if (const std::string left =
          left_behind(std::filesystem::weakly_canonical(dir, unresolved).string());
      !left.empty()) {
    target->keep();
    return say({Code::kConflict, "units_run",
                left + " still serves what was at " + dir +
                    " before it was moved away, and would go on to: no way out for sandboxes, no "
                    "secrets. End all "
                    "units first (`systemctl stop cay cay-gate cay-broker cay-launcher`; without "
                    "units, what runs it), restore, then `systemctl start cay`",
                0});
  }
  auto data = open_data_dir(dir, *user);
  if (!data) return say(data.error());
  if (launcher_answers(data->path))
    return say({Code::kConflict, "launcher_runs",
                "a launcher serves " + data->path + ": end it first", 0});
  if (auto marked = begin_restore(data->path); !marked) return say(marked.error());
  // Makes the pool and the directories, as at any start.
  auto gate = role_user(kGate, "");
  if (!gate) return say(gate.error());
  if (auto started =
          start_launcher({data->path, data->instance, user->uid, user->gid, gate->uid, {}});
      !started)
    return say(started.error());
  Restore restore(*data, *user, snapshots_of);
  auto done = await_adoption(data->path);  // or what is restored meanwhile would be swept away
  if (done) done = restore.run(in.get());
  if (done && !vault_key.empty()) {
    auto key = os::read_file(AT_FDCWD, vault_key, 4096);
    done = key ? restore.put_in_vault("key", *key) : Result<void>(std::move(key).error());
  }
  if (done) done = end_restore(data->path);
  auto stopped = stop_launcher(data->path);
  if (!done) return give_up(done.error(), *target, data->path);
  target->keep();
  for (const std::string& name : restore.without_disk()) {
    std::printf(
        "%s is left out: its disk is not in the backup (it was deleted meanwhile, or never ran).\n",
        name.c_str());
  }
  for (const std::string& name : restore.without_snapshot()) {
    std::printf("%s cannot start: the snapshot that it boots from is not here. Its disk is.\n",
                name.c_str());
  }
  if (!stopped) return say(stopped.error());
  std::printf("%zu sandboxes restored to %s, all stopped.\n", restore.sandboxes(),
              data->path.c_str());
  if (restore.has_new_key()) {
    std::printf(
        "The first API key is a new one, in %s/api-key: the backup has none. Links that the one "
        "before it made are over.\n",
        data->path.c_str());
  }
  if (restore.has_secrets() && vault_key.empty()) {
    std::printf(
        "Secrets are sealed: they open by the passphrase of the settings, or by the file that was "
        "DATA/vault/key (--vault-key FILE, or put it to\n"
        "%s/vault/key, mode 0600, with the owner of that directory).\n",
        data->path.c_str());
  }
  if (restore.has_settings())
    std::printf("The settings of then are in %s/cay.toml.restored.\n", data->path.c_str());
  return 0;
}

}  // namespace cay::app
