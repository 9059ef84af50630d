// The provider "daytona": sandboxes of Daytona, or of a server that speaks its wire, as its own
// clients use them.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "providers/backend.h"

namespace cay::providers {

// from_environment() reads DAYTONA_API_URL (else DAYTONA_SERVER_URL, else the vendor's own),
// DAYTONA_API_KEY (else DAYTONA_JWT_TOKEN with DAYTONA_ORGANIZATION_ID), DAYTONA_TARGET and
// CAY_CA_FILE, as Daytona's clients do.
struct DaytonaSettings {
  std::string api_url;
  std::string token;           // a key, or a JWT
  std::string organization{};  // with a JWT alone
  std::string target{};        // a region; empty: the organization's default
  std::string ca_file{};       // for https: trust these authorities alone
  static DaytonaSettings from_environment();
};

// A claim becomes the sandbox's name, which is unique in an organization, and its label
// "cay-claim". Fails kInvalidArgument (bad_url).
Result<std::unique_ptr<Provider>> make_daytona_provider(asio::any_io_executor executor,
                                                        DaytonaSettings settings);

}  // namespace cay::providers
