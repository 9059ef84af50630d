// The dispatcher takes every request through the checks before its handler: guards, key, route,
// limits. It also logs the request.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/exchange.h"
#include "model/trace.h"
#include "http/router.h"
#include "server/guards.h"
#include "server/key_ring.h"
#include "server/open_requests.h"
#include "server/rate_limit.h"
#include "server/public_url.h"

namespace cay::server {

struct AccessRecord {
  std::string method, target, peer, principal, tenant;
  KeyScope scope = KeyScope::kCreate;  // of the key, if one let the caller in
  std::string link;                    // its id, if one let the caller in
  TraceContext trace;                  // of this request: its own span, if it has one
  std::string trace_parent;            // the span that the caller gave
  UnixMillis begin = 0;
  std::string route;  // the pattern that matched; empty: none, or refused before
  int status = 0;  // 0: no answer (the client left, or the handler threw; of kBegin: not yet), 101:
                   // a WebSocket
  std::string subject;  // what it acted on that the path does not name
  bool acts = false;  // a key's, let in to do what may change something (kKey routes that no reader
                      // is let into; no link's)
  std::string request_id;  // also in the answer, as X-Request-Id
  double milliseconds = 0;
  bool failed = false;  // the handler threw
  bool cut = false;     // the key that let it in ended before it
  std::string reason;   // of a refusal before the handler
  // Two kinds of requests have a line at their beginning, too. Those that last: a WebSocket, a
  // tunnel, a stream of events. And those that may change something (any method but GET, HEAD and
  // OPTIONS), whose line is written before the handler acts.
  enum class Part { kWhole, kBegin, kEnd } part = Part::kWhole;
  bool begin_is_written = false;  // of kEnd
  std::string ended;              // of what lasted, and of what had no answer: how
};

// Whether a request of this method may change something: what RFC 9110, 9.2.1, calls safe does not.
bool may_change(std::string_view method);

struct DispatchConfig {
  HostPolicy hosts;
  PublicUrl public_url;  // its host is among `hosts`
  std::function<void()>
      before_key;  // called before a key is looked up: the ring may have changed on disk
  // The handler of a host that is not the API's, if it is one: it sees to who may. Its targets are
  // not logged.
  std::function<const http::Handler*(const http::RequestHead&)> by_host;
  bool trace =
      false;  // requests of sampled traces get a span of their own; else the caller's is passed on
  std::uint32_t max_per_key = 1024;  // requests at work at once for one key; more get 429
  OpenRequests* open = nullptr;  // those at work, to be ended with their keys; outlives the handler
  // Requests a second; 0: any number. Two seconds' worth at once; more get 429.
  std::uint32_t per_second = 0;  // of one key
  std::uint32_t strangers_per_second =
      0;  // of refusals where neither a key nor a link let in, to one address (network_of_peer)
  std::uint32_t per_second_of_link = 0;  // by one link
  std::function<void(const AccessRecord&)>
      log;  // targets come without their query, which may hold secrets
  // Writes the line of a beginning, and returns whether it is written. `log` gets the same request
  // again at its end.
  std::function<bool(const AccessRecord&)> begun;
};

// The order for each request:
// 1. The Host is checked.
// 2. A service's host goes to `by_host`, so that no header leads from there to the API.
// 3. A diversion by headers, or else the path, finds route and facade (http::Router).
// 4. The Origin and the key are checked by the facade's rule.
// 5. The key's connections and requests a second are counted.
// 6. The key's scope must allow the Right of the route.
// 7. The key's requests at work are counted.
//
// References outlive the handler. Runs on the daemon's loop.
http::Handler make_dispatcher(const http::Router& router, const KeyRing& keys,
                              DispatchConfig config);

}  // namespace cay::server
