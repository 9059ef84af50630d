// The settings that the daemon gives to the LangSmith facade.
#pragma once
#include <functional>

#include "api/common/answer.h"
#include "api/common/stdin_feed.h"
#include "api/common/service_names.h"
#include "codec/json.h"
#include "core/cay.h"
#include "http/router.h"
#include "model/limits.h"

namespace cay::api::langsmith {

// The requests to LangSmith's own API that are passed on: runs that are posted, or any.
enum class Passing { kRuns, kAnything };

struct LangsmithConfig {
  ServiceNames names;  // of service URLs and download links
  Limits maximum;      // more than this is a quota to these clients (429), not a mistake
  // Answers paths that are LangSmith's own (traces): passes them on. Empty: not configured.
  std::function<asio::awaitable<void>(ExchangePtr, Passing)> forward;
  // Returns `batch_ingest_config` and `instance_flags` of the upstream's /info, as far as they are
  // known. Empty: there is no upstream.
  std::function<asio::awaitable<codec::json::object>()> ingestion;
  std::shared_ptr<InputRoom> input =
      std::make_shared<InputRoom>();  // of all sessions of the daemon
  Millis heartbeat{15'000};  // of a silent stream of events: the clients' read timeout is 60 s
};

}  // namespace cay::api::langsmith

namespace cay::api {

// Boxes, data plane, snapshots, /info, under every prefix that clients make of LANGSMITH_ENDPOINT.
// References outlive the router.
void add_langsmith_routes(http::Router& router, core::Cay& cay, langsmith::LangsmithConfig config);

}  // namespace cay::api
