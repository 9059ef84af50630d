// Passes LangSmith's own requests (traces) on to the upstream of the settings.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "api/langsmith/config.h"
#include "config.h"
#include "http/exchange.h"

namespace cay::app {

using Forwarder =
    std::function<asio::awaitable<void>(std::shared_ptr<http::Exchange>, api::langsmith::Passing)>;

using Ingestion = std::function<asio::awaitable<codec::json::object>()>;

// Reads the key, where a file has it, as whoever we are now. kInvalidArgument (bad_config): both
// are set, or one cannot be used.
Result<void> settle_upstream(LangsmithUpstream& upstream);

// An empty function when no upstream is set. kInvalidArgument for a URL or a CA file that cannot be
// used.
Result<Forwarder> forwarder(asio::any_io_executor loop, const LangsmithUpstream& upstream);

// Returns LangsmithConfig::ingestion, which reads the upstream's /info without a key, and keeps it
// for a minute. While the upstream does not respond, its last response counts. Otherwise as
// forwarder().
Result<Ingestion> ingestion(asio::any_io_executor loop, const LangsmithUpstream& upstream);

}  // namespace cay::app
