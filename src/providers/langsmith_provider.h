// The provider "langsmith": sandboxes of LangSmith, or of a server that speaks its wire, as its own
// clients use them.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "providers/backend.h"

namespace cay::providers {

// from_environment() reads LANGSMITH_ENDPOINT (else LANGCHAIN_ENDPOINT, else the vendor's own),
// LANGSMITH_API_KEY (else LANGCHAIN_API_KEY) and CAY_CA_FILE, as LangSmith's clients do.
struct LangSmithSettings {
  std::string endpoint;  // without "/v2/sandboxes"
  std::string api_key;
  std::string ca_file{};  // for https: trust these authorities alone
  static LangSmithSettings from_environment();
};

// A claim becomes the sandbox's name, which is unique in a workspace. Fails kInvalidArgument
// (bad_url).
Result<std::unique_ptr<Provider>> make_langsmith_provider(asio::any_io_executor executor,
                                                          LangSmithSettings settings);

}  // namespace cay::providers
