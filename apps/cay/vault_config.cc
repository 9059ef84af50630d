#include "vault_config.h"

#include <fcntl.h>

#include "os/file.h"

namespace cay::app {
namespace {

constexpr std::size_t kLeastPassphrase = 12;

Result<std::string> passphrase_in(const std::string& path) {
  if (path.empty()) return std::string();
  auto text = os::read_file(AT_FDCWD, path, 4096);
  if (!text) return std::move(text).error().while_doing("read the vault's passphrase");
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  if (text->size() < kLeastPassphrase) {
    return Error{Code::kInvalidArgument, "bad_config",
                 "the vault's passphrase in " + path + " has less than 12 characters", 0};
  }
  return text;
}

}  // namespace

Result<vault::Settings> broker_settings(const VaultConfig& config, const NetworkConfig& network,
                                        const std::string& data, uid_t daemon, uid_t gate) {
  vault::Settings out;
  out.data = data;
  out.daemon_uid = daemon;
  out.gate_uid = gate;
  out.networks = network.networks;
  out.proxy = network.proxy;
  if (!config.ca_file.empty()) {
    auto text = os::read_file(AT_FDCWD, config.ca_file, 4 << 20);
    if (!text) return std::move(text).error().while_doing("read vault.ca_file");
    out.authorities = *std::move(text);
  }
  CAY_TRY(out.passphrase, passphrase_in(config.passphrase_file));
  CAY_TRY(out.previous_passphrase, passphrase_in(config.previous_passphrase_file));
  return out;
}

}  // namespace cay::app
