#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>

#include "backup_command.h"
#include "base/clock.h"
#include "data_dir.h"
#include "disk_store.h"
#include "launcher/record.h"
#include "launcher/validate.h"
#include "gate_process.h"
#include "launcher_process.h"
#include "os/btrfs.h"
#include "os/file.h"
#include "store/backup.h"
#include "tar_file.h"

namespace cay::app {
namespace {

constexpr int kFailure = 125;
constexpr std::int64_t kFormat = 1;
constexpr const char* kIncoming = "state.db.incoming";

Error not_a_backup(const std::string& why) {
  return {Code::kInvalidArgument, "not_a_backup", "this is no backup of Cay's, or a damaged one: " + why, 0};
}

class Restore {
 public:
  Restore(DataDir data, DaemonUser user) : where_(std::move(data)), user_(std::move(user)) {}

  Result<void> run(int file) {
    CAY_TRY(data_, os::open_dir(AT_FDCWD, where_.path));
    CAY_TRY(spool_, os::open_dir(data_.get(), "spool"));
    CAY_TRY(layers_, os::open_dir(data_.get(), "layers"));
    CAY_TRY(records_, os::open_dir(data_.get(), "sandboxes"));
    CAY_TRY(disks_, DiskStore::open(where_.path));
    CAY_CHECK(extract_tar(file, [this](const std::string& name) { return place(name); },
                          [this](const std::string& name, std::string bytes) { return take(name, std::move(bytes)); }));
    if (!manifest_) return not_a_backup("it has no cay-backup.json");
    const std::string incoming = where_.path + "/" + kIncoming;
    CAY_CHECK(store::settle_restored(incoming, system_clock().wall()));
    if (::renameat(data_.get(), kIncoming, data_.get(), "state.db") != 0) return Error::from_errno(errno, "put state.db in place");
    CAY_CHECK(own("state.db"));
    for (const char* name : {"keys", "api-key"}) {
      CAY_CHECK(own(name));
    }
    return {};
  }

  std::size_t sandboxes() const { return count_; }
  bool has_settings() const { return settings_; }

 private:
  struct Kind {
    const char* prefix;
    const UniqueFd* parent;
    bool disk;
  };

  Result<TarPlace> place(const std::string& name) {
    if (name != "cay-backup.json" && !manifest_) return not_a_backup("it does not begin with cay-backup.json");
    if (name == "state.db") return TarPlace{data_.get(), "", kIncoming, -1};
    for (const Kind& kind : {Kind{"disks/", &disks_.dir, true}, Kind{"spool/", &spool_, false}, Kind{"layers/", &layers_, false}}) {
      if (!name.starts_with(kind.prefix)) continue;
      const std::string rest = name.substr(std::string(kind.prefix).size());
      const std::string id = rest.substr(0, rest.find('/'));
      if (!launcher::is_uuid(id)) return not_a_backup("'" + name + "'");
      CAY_TRY(const int dir, directory_of(kind, id));
      std::string below = rest.size() > id.size() ? rest.substr(id.size() + 1) : std::string();
      return TarPlace{dir, kind.prefix + id, std::move(below), kind.parent == &spool_ ? std::int64_t{user_.gid} : -1};
    }
    return TarPlace{};
  }

  // Made at the first of its entries: a disk is a subvolume where there is a pool.
  Result<int> directory_of(const Kind& kind, const std::string& id) {
    const std::string key = kind.prefix + id;
    const auto known = open_.find(key);
    if (known != open_.end()) return known->second.get();
    if (kind.disk && disks_.pooled) {
      CAY_CHECK(os::btrfs_create_subvolume(kind.parent->get(), id));
    } else if (::mkdirat(kind.parent->get(), id.c_str(), 0755) != 0) {
      return Error::from_errno(errno, "make " + key);
    }
    open_.clear();  // one after the other: no more than one is under way
    CAY_TRY(UniqueFd dir, os::open_dir(kind.parent->get(), id));
    return (open_[key] = std::move(dir)).get();
  }

  Result<void> take(const std::string& name, std::string bytes) {
    if (name == "cay-backup.json") return check_manifest(bytes);
    if (name == "keys" || name == "api-key") return os::replace_file(data_.get(), name, bytes, 0600);
    if (name == "cay.toml") {
      settings_ = true;
      return os::replace_file(data_.get(), "cay.toml.restored", bytes, 0600);
    }
    if (!name.starts_with("sandboxes/")) return not_a_backup("'" + name + "'");
    const std::string id = name.substr(std::string("sandboxes/").size());
    auto record = wire::decode<launcher::Record>(bytes);
    if (!launcher::is_uuid(id) || !record) return not_a_backup("'" + name + "'");
    record->alive = false;  // its keeper belongs to where the backup was taken
    record->boot_id.clear();
    if (::mkdirat(records_.get(), id.c_str(), 0700) != 0) return Error::from_errno(errno, "record sandbox " + id);
    ++count_;
    return launcher::write_record(records_.get(), id, *record);
  }

  Result<void> check_manifest(const std::string& bytes) {
    boost::json::error_code failed;
    const auto parsed = boost::json::parse(bytes, failed);
    const auto* object = failed ? nullptr : parsed.if_object();
    const auto* format = object != nullptr ? object->if_contains("format") : nullptr;
    if (format == nullptr || !format->is_int64()) return not_a_backup("cay-backup.json cannot be read");
    if (format->get_int64() > kFormat) {
      return Error{Code::kUnsupported, "backup_too_new", "a newer Cay made this backup: restore it with that one", 0};
    }
    manifest_ = true;
    return {};
  }

  Result<void> own(const char* name) {
    if (::fchownat(data_.get(), name, user_.uid, user_.gid, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT) {
      return Error::from_errno(errno, std::string("own ") + name);
    }
    return {};
  }

  DataDir where_;
  DaemonUser user_;
  UniqueFd data_, spool_, layers_, records_;
  DiskStore disks_;
  std::map<std::string, UniqueFd> open_;
  bool manifest_ = false, settings_ = false;
  std::size_t count_ = 0;
};

int say(const Error& error) {
  std::fprintf(stderr, "cay restore: %s\n", error.message.c_str());
  return kFailure;
}

}  // namespace

int restore_command(int argc, char** argv) {
  CLI::App app{"A backup into a new data directory.", "cay restore"};
  app.footer(
      "The directory must hold no state yet, and no daemon runs on it. Sandboxes come back stopped, with their disks and the\n"
      "output of their commands; a command that ran when the backup was taken is lost.\n"
      "Examples:\n"
      "  systemctl stop cay cay-launcher && sudo cay restore FILE && systemctl start cay\n"
      "  sudo cay restore --data ./state --run-as alice FILE");
  std::string file, dir, run_as;
  app.add_option("--data", dir, "the data directory to make (default " + default_data_dir() + ")");
  app.add_option("--run-as", run_as, "the daemon's user (default cay, if there is one)");
  app.add_option("FILE", file, "what `cay backup` made")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kFailure;
  }
  if (::geteuid() != 0) return say({Code::kPermissionDenied, "needs_root", "disks hold files of every user: run it with sudo", 0});
  if (dir.empty()) dir = default_data_dir();
  const UniqueFd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) return say(Error::from_errno(errno, "open " + file));
  for (const char* name : {"/state.db", "/sandboxes", "/pool.img"}) {
    if (::access((dir + name).c_str(), F_OK) == 0) {
      return say({Code::kAlreadyExists, "data_dir_in_use", dir + " holds state already: move it away, or choose another --data", 0});
    }
  }
  auto user = daemon_user(run_as);
  if (!user) return say(user.error());
  auto data = open_data_dir(dir, *user);
  if (!data) return say(data.error());
  if (launcher_answers(data->path)) return say({Code::kConflict, "launcher_runs", "a launcher serves " + data->path + ": end it first", 0});
  // Makes the pool and the directories, as at any start.
  auto gate = gate_user("");
  if (!gate) return say(gate.error());
  if (auto started = start_launcher({data->path, data->instance, user->uid, user->gid, gate->uid, {}}); !started) return say(started.error());
  Restore restore(*data, *user);
  auto done = restore.run(in.get());
  auto stopped = stop_launcher(data->path);
  if (!done) {
    (void)os::remove_tree(AT_FDCWD, data->path);
    return say(done.error());
  }
  if (!stopped) return say(stopped.error());
  std::printf("%zu sandboxes restored to %s, all stopped.\n", restore.sandboxes(), data->path.c_str());
  if (restore.has_settings()) std::printf("The settings of then are in %s/cay.toml.restored.\n", data->path.c_str());
  return 0;
}

}  // namespace cay::app
