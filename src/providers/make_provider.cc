#include "cay/async_client.h"
#include "providers/cay_provider.h"
#include "providers/daytona_provider.h"
#include "providers/langsmith_provider.h"
#include "providers/local_provider.h"

namespace cay::providers {

Result<std::unique_ptr<Provider>> make_provider(asio::any_io_executor executor,
                                                std::string_view name) {
  if (name == "cay") return make_cay_provider(sdk::AsyncClient(std::move(executor)));
  if (name == "langsmith") {
    return make_langsmith_provider(std::move(executor), LangSmithSettings::from_environment());
  }
  if (name == "daytona") {
    return make_daytona_provider(std::move(executor), DaytonaSettings::from_environment());
  }
  if (name == "local") return make_local_provider(std::move(executor));
  return Error{Code::kInvalidArgument, "unknown_provider",
               "there is no provider '" + std::string(name) + "': cay, langsmith, daytona or local",
               0};
}

}  // namespace cay::providers
