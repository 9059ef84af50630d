// Passing LangSmith's own requests (traces) on to where the operator says.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "http/exchange.h"

namespace cay::app {

using Forwarder = std::function<asio::awaitable<void>(std::shared_ptr<http::Exchange>)>;

// An empty function when `url` is empty. kInvalidArgument for a URL that cannot be used.
Result<Forwarder> forwarder(asio::any_io_executor loop, const std::string& url, const std::string& key);

}  // namespace cay::app
