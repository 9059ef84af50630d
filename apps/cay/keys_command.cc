#include "keys_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "base/unique_fd.h"
#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "server/key_ring.h"

namespace cay::app {
namespace {


int say(const Error& error) { return fail("cay key", error); }

// The file must stay the daemon's, though root may have edited it.
Result<void> keep_owner(const std::string& dir, const std::string& file) {
  struct stat owner{};
  if (::stat(dir.c_str(), &owner) != 0) return Error::from_errno(errno, "look at " + dir);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return Error::from_errno(errno, "open " + file);
  if (::geteuid() == 0 && ::fchown(fd.get(), owner.st_uid, owner.st_gid) != 0) return Error::from_errno(errno, "own " + file);
  return {};
}

int create(const std::string& dir, const std::string& name, const std::string& tenant) {
  const std::string path = dir + "/keys";
  auto ring = server::load_keys(path);
  if (!ring) return say(ring.error());
  const std::string key = server::new_key();
  const server::KeyRecord record{name, tenant, server::hash_key(key)};
  if (auto added = ring->add(record); !added) return say(added.error());
  if (auto written = server::append_key(path, record); !written) return say(written.error());
  if (auto kept = keep_owner(dir, path); !kept) return say(kept.error());
  std::printf("%s\n", key.c_str());
  std::fprintf(stderr, "cay key: shown once; only its hash is kept. A running daemon takes it at once.\n");
  return 0;
}

int list(const std::string& dir) {
  auto ring = server::load_keys(dir + "/keys");
  if (!ring) return say(ring.error());
  for (const auto& record : ring->records()) std::printf("%-24s %s\n", record.name.c_str(), record.tenant.c_str());
  return 0;
}

int remove(const std::string& dir, const std::string& name) {
  const std::string path = dir + "/keys";
  auto ring = server::load_keys(path);
  if (!ring) return say(ring.error());
  const std::string draft = path + ".new";
  ::unlink(draft.c_str());
  bool found = false;
  for (const auto& record : ring->records()) {
    if (record.name == name) {
      found = true;
      continue;
    }
    if (auto written = server::append_key(draft, record); !written) return say(written.error());
  }
  if (!found) return say(Error{Code::kNotFound, "no_such_key", "there is no key named '" + name + "'", 0});
  if (ring->records().size() == 1) {
    ::unlink(path.c_str());
  } else {
    if (auto kept = keep_owner(dir, draft); !kept) return say(kept.error());
    if (::rename(draft.c_str(), path.c_str()) != 0) return say(Error::from_errno(errno, "write " + path));
  }
  // A key that was taken away must not come back with the power.
  const UniqueFd names(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names || ::fsync(names.get()) != 0) return say(Error::from_errno(errno, "write " + dir));
  return 0;
}

}  // namespace

int key_command(int argc, char** argv) {
  CLI::App app{"Keys of the daemon's API, made and removed on its own machine.", "cay key"};
  app.footer(
      "Examples:\n"
      "  sudo cay key create laptop              prints a new key, once\n"
      "  sudo cay key create ci --tenant ci      its sandboxes are its own\n"
      "  sudo cay key list\n"
      "  sudo cay key remove laptop");
  std::string config, dir, name, tenant = "default";
  app.add_option("--config", config, "the daemon's settings; server.data is read (default /etc/cay/cay.toml if it is there)");
  app.add_option("--data", dir, "the daemon's data directory (default: that of the settings, else " + default_data_dir() + ")");
  app.require_subcommand(1);
  auto* make = app.add_subcommand("create", "make a key and print it");
  make->add_option("name", name, "what the key is called in logs and as created_by")->required();
  make->add_option("--tenant", tenant, "whose sandboxes it sees")->capture_default_str();
  auto* show = app.add_subcommand("list", "names and tenants");
  auto* drop = app.add_subcommand("remove", "forget a key");
  drop->add_option("name", name, "the key's name")->required();
  if (const auto over = parse_words(app, argc, argv)) return *over;
  if (auto settled = settle_data_dir(config, dir); !settled) return say(settled.error());
  if (make->parsed()) return create(dir, name, tenant);
  if (show->parsed()) return list(dir);
  if (drop->parsed()) return remove(dir, name);
  return kFailure;
}

}  // namespace cay::app
