#include "backup_command.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "archive/tree_digest.h"
#include "archive/tree_file.h"
#include "base/clock.h"
#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "db/database.h"
#include "disk_store.h"
#include "launcher/disks.h"
#include "model/volume.h"
#include "os/file.h"
#include "snapshot_layers.h"
#include "store/backup.h"
#include "store/schema.h"

namespace cay::app {
namespace {

// 2: with DATA/tls. 3: with the vault's keyring, sealed. 4: with layers, volumes and digests.
constexpr int kFormat = 4;
constexpr std::size_t kMaxFile = 64u << 20;  // of keys and settings: as much as a restore takes

// Removes a file in its destructor, unless keep() was called.
class Scratch {
 public:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::unlink(path_.c_str()); }

 private:
  std::string path_;
};

struct Options {
  std::string data, config, file;
  bool without_snapshots = false;
  bool with_api_key = false;
};

bool runs(const store::StoredSandbox& sandbox) {
  return sandbox.state == "ready" || sandbox.state == "provisioning" || sandbox.state == "paused";
}

// The file that becomes the backup, for us alone. The remains of a killed backup are overwritten.
Result<UniqueFd> open_part(const std::string& part) {
  UniqueFd out(::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out) return Error::from_errno(errno, "make " + part);
  struct stat found{};
  if (::fstat(out.get(), &found) != 0) return Error::from_errno(errno, "look at " + part);
  if (found.st_uid != ::geteuid() || !S_ISREG(found.st_mode) || found.st_nlink > 1 ||
      (found.st_mode & 077) != 0) {
    return Error{Code::kAlreadyExists, "file_exists",
                 part + " exists, and no backup made it: choose another name", 0};
  }
  if (::flock(out.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{Code::kConflict, "backup_runs",
                 "another backup writes " + part + ": wait for its end", 0};
  }
  struct stat named{};
  if (::lstat(part.c_str(), &named) != 0 || named.st_ino != found.st_ino ||
      named.st_dev != found.st_dev) {
    return Error{Code::kConflict, "backup_runs",
                 "another backup has just ended with " + part + ": try again", 0};
  }
  if (::ftruncate(out.get(), 0) != 0) return Error::from_errno(errno, "empty " + part);
  return out;
}

class Backup {
 public:
  explicit Backup(Options options) : options_(std::move(options)) {}

  Result<void> run() {
    CAY_TRY(data_, os::open_dir(AT_FDCWD, options_.data));
    CAY_TRY(disks_, DiskStore::open(options_.data));
    CAY_CHECK(disks_.lock());
    if (disks_.pooled) {
      CAY_CHECK(disks_.remove_leftovers());
    }
    const std::string part = options_.file + ".part";
    CAY_TRY(const UniqueFd out, open_part(part));
    Scratch unfinished(part);
    CAY_TRY(tar_, archive::TreeWriter::create(out.get()));
    // As of one moment; what is made later is not in the backup, what is deleted later has no disk
    // in it. The copy lies beside the backup: the data directory is the daemon's, who might put
    // something in its place.
    const std::string copy = options_.file + ".db";
    for (const char* left : {"", "-journal", "-wal", "-shm"}) ::unlink((copy + left).c_str());
    CAY_CHECK(db::copy_database(options_.data + "/state.db", copy));
    const Scratch scratch(copy);
    CAY_TRY(sandboxes_, store::sandboxes_in(copy));
    CAY_TRY(layers_, store::layers_in(copy));
    CAY_TRY(volumes_, store::volumes_in(copy));
    // Caches of builds are made anew.
    std::erase_if(volumes_, [](const auto& one) { return is_reserved_volume(one.name); });
    CAY_CHECK(check_disks());
    CAY_CHECK(freeze_disks());
    CAY_CHECK(look_again());
    CAY_CHECK(add_manifest());
    CAY_CHECK(add_database(copy));
    for (const char* name : {"keys", "tls/cert.pem", "tls/key.pem", "vault/keyring"}) {
      CAY_CHECK(add_file(options_.data + "/" + name, name));
    }
    if (options_.with_api_key) {  // in clear, and it administers the host: of all others only
                                  // hashes are kept
      CAY_CHECK(add_file(options_.data + "/api-key", "api-key"));
    }
    tell_of_secrets();
    tell_of_settings();
    if (!options_.config.empty()) {
      CAY_CHECK(add_file(options_.config, "cay.toml"));
    }
    // A layer before all that stand on it.
    CAY_CHECK(add_layers());
    for (const auto& sandbox : sandboxes_) {
      CAY_CHECK(add_sandbox(sandbox));
    }
    CAY_CHECK(add_volumes());
    if (!disks_.pooled) {
      CAY_CHECK(look_again());
    }
    CAY_CHECK(tar_->add_bytes("cay-digests.json", boost::json::serialize(digests_)));
    CAY_CHECK(tar_->close());
    if (::fsync(out.get()) != 0) return Error::from_errno(errno, "write " + part);
    if (::link(part.c_str(), options_.file.c_str()) != 0)
      return Error::from_errno(errno, "make " + options_.file);
    for (const std::string& warning : tar_->warnings())
      std::fprintf(stderr, "cay backup: %s\n", warning.c_str());
    return {};
  }

  // The keyring is sealed. The key that opens it is left out: a backup alone must open nothing.
  void tell_of_secrets() const {
    if (::faccessat(data_.get(), "vault/keyring", F_OK, AT_SYMLINK_NOFOLLOW) != 0) return;
    const bool file = ::faccessat(data_.get(), "vault/key", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    std::printf(
        "%-24s sealed. To open them a restore needs %s, which is not in the backup: keep a copy "
        "elsewhere\n",
        "secrets", file ? (options_.data + "/vault/key").c_str() : "the vault's passphrase");
  }

  // Keys that stand in the settings themselves are in the backup with them.
  void tell_of_settings() const {
    Config settings;
    if (options_.config.empty() || !load_config(options_.config, settings)) return;
    if (!settings.langsmith.key.empty()) {
      std::printf(
          "%-24s hold langsmith.upstream_key in clear, and so does the backup: "
          "langsmith.upstream_key_file keeps it out\n",
          "settings");
    }
  }

 private:
  // A tree that is written to while it is read would be no state that ever was.
  Result<void> check_disks() const {
    if (disks_.pooled) return {};
    for (const auto& sandbox : sandboxes_) {
      if (runs(sandbox)) return runs_here(sandbox.name);
    }
    return {};
  }

  static Error runs_here(const std::string& name) {
    return {Code::kNotReady, "sandbox_runs",
            "the disks here are plain directories, of which no snapshot can be taken, and " + name +
                " runs: stop it first (cay drain --stop), then back up, then `cay drain --undo`",
            0};
  }

  // Freezes all disks before anything is written, so that a sandbox's state is that of its disk.
  Result<void> freeze_disks() {
    if (!disks_.pooled) return {};
    for (const auto& sandbox : sandboxes_) {
      CAY_CHECK(freeze(sandbox.id));
    }
    for (const auto& volume : volumes_) {
      CAY_CHECK(freeze(launcher::kVolumeInStore + volume.id));
    }
    for (const std::string& id : layers_) {
      CAY_CHECK(freeze(launcher::kLayerInStore + id));
    }
    return {};
  }

  // A disk that was deleted since the copy of the database is no error.
  Result<void> freeze(const std::string& name) {
    auto frozen = disks_.freeze(name);
    if (frozen) {
      frozen_.emplace(name, std::move(*frozen));
    } else if (frozen.error().os_errno != ENOENT) {
      return std::move(frozen).error();
    }
    return {};
  }

  // Finds the sandboxes that ran, or began to, between the copy of the database and now.
  Result<void> look_again() {
    std::map<std::string, store::StoredSandbox> now;
    CAY_TRY(auto rows, store::sandboxes_in(options_.data + "/state.db"));
    for (auto& row : rows) now[row.id] = std::move(row);
    for (const auto& sandbox : sandboxes_) {
      const auto found = now.find(sandbox.id);
      const bool woke = found != now.end() &&
                        (runs(found->second) || found->second.stopped_at != sandbox.stopped_at);
      if (woke && !disks_.pooled) return runs_here(sandbox.name);
      if (woke || runs(sandbox)) ran_.insert(sandbox.id);
    }
    return {};
  }

  Result<void> add_manifest() {
    boost::json::array items;
    for (const auto& sandbox : sandboxes_) {
      items.push_back({{"id", sandbox.id},
                       {"name", sandbox.name},
                       {"state", sandbox.state},
                       {"consistency", ran_.contains(sandbox.id) ? "crash" : "stopped"}});
    }
    const boost::json::object manifest{{"format", kFormat},
                                       {"cay", CAY_VERSION},
                                       {"schema", store::schema_version()},
                                       {"taken_at", system_clock().wall()},
                                       {"with_snapshots", !options_.without_snapshots},
                                       {"sandboxes", std::move(items)}};
    return tar_->add_bytes("cay-backup.json", boost::json::serialize(manifest));
  }

  Result<void> add_file(const std::string& path, const char* name) {
    auto bytes = os::read_file(AT_FDCWD, path, kMaxFile);
    if (!bytes && bytes.error().os_errno == ENOENT) return {};
    if (!bytes) return std::move(bytes).error();
    if (bytes->size() >= kMaxFile)
      return Error{Code::kUnsupported, "file_too_large", path + " is larger than 64 MiB", 0};
    return tar_->add_bytes(name, *bytes);
  }

  Result<void> add_database(const std::string& copy) {
    const UniqueFd fd(::open(copy.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return Error::from_errno(errno, "open " + copy);
    return tar_->add_content(fd.get(), "state.db");
  }

  Result<void> add_sandbox(const store::StoredSandbox& sandbox) {
    auto record = os::read_file(data_.get(), "sandboxes/" + sandbox.id + "/record");
    const bool gone = (!record && record.error().os_errno == ENOENT) ||
                      (disks_.pooled && !frozen_.contains(sandbox.id));
    if (gone) {
      // Deleted between two looks, or never confirmed: a row alone, which a restore leaves out.
      std::printf("%-24s has no disk, or was deleted meanwhile: not in the backup\n",
                  sandbox.name.c_str());
      return {};
    }
    if (!record) return std::move(record).error();
    CAY_CHECK(tar_->add_bytes("sandboxes/" + sandbox.id, *record));
    CAY_CHECK(add_disk(sandbox));
    auto spool = os::open_dir(data_.get(), "spool/" + sandbox.id);
    if (spool) {
      CAY_CHECK(tar_->add_changing_tree(spool->get(), "spool/" + sandbox.id));
    }
    if (spool || spool.error().os_errno == ENOENT) {
      std::printf("%-24s %s\n", sandbox.name.c_str(),
                  ran_.contains(sandbox.id)
                      ? "runs: its disk as of one moment, as after a power cut (crash-consistent)"
                      : "does not run: consistent");
      return {};
    }
    return std::move(spool).error();
  }

  Result<void> add_disk(const store::StoredSandbox& sandbox) {
    const std::string name = "disks/" + sandbox.id;
    if (disks_.pooled) {
      // Files of layers that were set aside beside these two are in the backup with their layers.
      for (const std::string part : {"upper", "work"}) {
        CAY_CHECK(add_frozen(sandbox.id, part, name + "/" + part));
      }
      frozen_.erase(sandbox.id);
      return {};
    }
    auto disk = os::open_dir(disks_.dir.get(), sandbox.id);
    if (!disk && disk.error().os_errno == ENOENT) return {};
    if (!disk) return std::move(disk).error();
    return tar_->add_tree(disk->get(), name);
  }

  // `part`: a directory of that disk; empty: all of it.
  Result<void> add_frozen(const std::string& disk, const std::string& part,
                          const std::string& name) {
    CAY_TRY(const UniqueFd root, frozen_.at(disk).open());
    CAY_TRY(const UniqueFd tree, os::open_dir(root.get(), part.empty() ? "." : part));
    return tar_->add_tree(tree.get(), name);
  }

  // The same, with a digest, which the restore compares. A tree that the archive does not have
  // exactly as it is has none.
  Result<void> add_checked(const std::string& disk, const std::string& part,
                           const std::string& name) {
    const std::size_t warnings = tar_->warnings().size();
    CAY_CHECK(add_frozen(disk, part, name));
    if (tar_->warnings().size() != warnings) return {};
    CAY_TRY(const UniqueFd root, frozen_.at(disk).open());
    CAY_TRY(const UniqueFd tree, os::open_dir(root.get(), part.empty() ? "." : part));
    CAY_TRY(digests_[name], archive::tree_digest(tree.get()));
    return {};
  }

  // Adds the trees that sandboxes boot from, and all sealed layers. The host's own trees are left
  // out by request.
  Result<void> add_layers() {
    auto ids = layers_of(data_.get(), sandboxes_);
    for (const std::string& id : layers_) {
      const auto stack = stack_in(data_.get(), id);
      ids.insert(stack.begin(), stack.end());
    }
    for (const std::string& id : ids) {
      auto layer = os::open_dir(data_.get(), "layers/" + id);
      if (!layer && layer.error().os_errno == ENOENT) continue;
      if (!layer) return std::move(layer).error();
      const bool sealed = frozen_.contains(launcher::kLayerInStore + id);
      if (!sealed && options_.without_snapshots) continue;
      CAY_CHECK(tar_->add_tree(layer->get(), "layers/" + id));
    }
    for (const std::string& id : layers_) {
      const std::string disk = launcher::kLayerInStore + id;
      if (!frozen_.contains(disk)) continue;
      CAY_CHECK(add_checked(disk, "upper", "sealed/" + id));
      frozen_.erase(disk);
    }
    return {};
  }

  Result<void> add_volumes() {
    for (const auto& volume : volumes_) {
      const std::string disk = launcher::kVolumeInStore + volume.id;
      if (!frozen_.contains(disk)) {
        std::printf("volume %-17s has no disk, or was deleted meanwhile: not in the backup\n",
                    volume.name.c_str());
        continue;
      }
      CAY_CHECK(add_checked(disk, "", "volumes/" + volume.id));
      frozen_.erase(disk);
      std::printf("volume %-17s as of one moment\n", volume.name.c_str());
    }
    return {};
  }

  Options options_;
  UniqueFd data_;
  DiskStore disks_;
  std::optional<archive::TreeWriter> tar_;
  std::vector<store::StoredSandbox> sandboxes_;
  std::vector<std::string> layers_;  // each after the one that it stands on
  std::vector<store::StoredVolume> volumes_;
  std::map<std::string, DiskStore::Frozen> frozen_;  // by name; let go before the disks
  boost::json::object digests_;                      // of trees in the archive
  std::set<std::string> ran_;                        // when their disks were taken
};

}  // namespace

int backup_command(int argc, char** argv) {
  CLI::App app{
      "Everything of a data directory in one file: records, keys, settings, disks, output, "
      "snapshots.",
      "cay backup"};
  app.footer(
      "The daemon goes on meanwhile. A sandbox that runs is taken as of one moment, as after a "
      "power cut; `cay drain --stop`\n"
      "before, and it is consistent to its programs, too. The file holds every file and the hashes "
      "of keys: keep it as you keep them.\n"
      "Two keys are left out, so that it opens nothing by itself: the first API key (a restore "
      "makes a new one) and what opens secrets.\n"
      "Examples:\n"
      "  sudo cay backup /srv/backup/cay-$(date +%F).tar.zst\n"
      "  sudo cay backup --without-snapshots FILE      smaller; a restore takes them from this "
      "data directory (--snapshots-of)");
  Options options;
  app.add_option("--config", options.config,
                 "settings to take along (default /etc/cay/cay.toml if it is there)");
  app.add_option(
      "--data", options.data,
      "the data directory (default: that of the settings, else " + default_data_dir() + ")");
  app.add_flag("--without-snapshots", options.without_snapshots,
               "leave out what sandboxes boot from");
  app.add_flag("--with-api-key", options.with_api_key,
               "with DATA/api-key in clear: whoever reads the backup may then administer the host");
  app.add_option("FILE", options.file, "the file to make")->required();
  if (const auto over = parse_words(app, argc, argv)) return *over;
  const auto say = [](const Error& error) { return fail("cay backup", error); };
  if (::geteuid() != 0)
    return say({Code::kPermissionDenied, "needs_root",
                "disks hold files of every user: run it with sudo", 0});
  if (auto settled = settle_data_dir(options.config, options.data); !settled)
    return say(settled.error());
  if (::access(options.file.c_str(), F_OK) == 0)
    return say(
        {Code::kAlreadyExists, "file_exists", options.file + " exists: choose another name", 0});
  auto done = Backup(std::move(options)).run();
  return done ? 0 : say(done.error());
}

}  // namespace cay::app
