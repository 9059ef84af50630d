// [[webhooks]] of the configuration file.
#pragma once
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <vector>

#include "api/outbound/webhooks.h"

namespace cay::app {

// Reads the secrets' files too: while the program may still be root. kInvalidArgument (bad_config,
// bad_webhook_secret), or why a file cannot be read.
Result<void> load_webhooks(const toml::node& list, std::vector<api::WebhookConfig>& out);

}  // namespace cay::app
