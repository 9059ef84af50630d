// The provider "cay": sandboxes of a Cay daemon, through the SDK's coroutines.
#pragma once
#include <memory>
#include <string>

#include "cay/async_client.h"
#include "providers/backend.h"

namespace cay::providers {

std::unique_ptr<Provider> make_cay_provider(const sdk::AsyncClient& client);

// Ids of commands that the daemon takes. Another id becomes its SHA-256, so that the same one stays
// the same.
std::string cay_command_id(const std::string& id);

}  // namespace cay::providers
