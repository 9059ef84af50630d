// Webhooks: events sent to the operator's receivers, signed, in order, at least once. The store has
// the last acknowledged one, so a restart goes on behind it. A receiver that fails is tried again
// until it works, and holds up nobody but itself.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/cay.h"
#include "core/ports/store.h"

namespace cay::api {

struct WebhookConfig {
  std::string name;     // 1-63 of [A-Za-z0-9._-], for ever: what was acknowledged goes by it
  std::string url;      // http[s]://HOST[:PORT]/PATH
  std::string ca_file;  // https: trust the authorities in it alone; empty: the system's
  std::vector<std::string> events;  // types, or beginnings up to a dot; empty: all
  std::string tenant = "default";
  std::string key;  // from webhook_key()
};

struct WebhookTiming {
  Millis answer_limit{15'000};  // connecting included
  Millis first_pause{1'000};    // after a failure; doubles
  Millis longest_pause{300'000};
};

class Webhook {
 public:
  // kInvalidArgument (bad_webhook) for what can never work. References outlive it.
  static Result<std::unique_ptr<Webhook>> create(asio::any_io_executor loop, core::Cay& cay,
                                                 core::Store& store, WebhookConfig config,
                                                 WebhookTiming timing = {});
  virtual ~Webhook() = default;

  // Sends until it is cancelled.
  virtual asio::awaitable<void> run() = 0;
};

}  // namespace cay::api
