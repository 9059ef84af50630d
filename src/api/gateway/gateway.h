// Gateway: services and files of sandboxes, reached from outside by links. It checks the link's
// token, and needs no API key.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "api/gateway/kept_services.h"
#include "api/common/service_names.h"
#include "async/event.h"
#include "core/cay.h"
#include "core/verbs/links.h"
#include "http/router.h"
#include "model/link.h"

namespace cay::api {

struct GatewayConfig {
  ServiceNames names;
  // Whether a text is one of Cay's API keys, and whether a key of that name is still let in: links
  // end with it.
  std::function<bool(std::string_view key)> is_key;
  std::function<bool(const Link& link)> key_lives;
};

class Gateway {
 public:
  // `cay` outlives it.
  Gateway(asio::any_io_executor loop, core::Cay& cay, GatewayConfig config);

  // The forms under Cay's own host: /svc/SANDBOX/PORT/... and /dl/SANDBOX/TOKEN. The gateway
  // outlives the router.
  void add_routes(http::Router& router);
  // The handler of a service's own host; null: it is not one.
  const http::Handler* handler_of(const http::RequestHead& head) const;
  // The daemon ends: what is open is cut.
  void end();
  const ServiceNames& names() const { return config_.names; }

 private:
  using ExchangePtr = std::shared_ptr<http::Exchange>;
  asio::awaitable<void> serve_host(ExchangePtr exchange);
  asio::awaitable<void> serve_service_path(ExchangePtr exchange);
  asio::awaitable<void> serve_file_path(ExchangePtr exchange);
  asio::awaitable<void> serve_service(ExchangePtr exchange, ServicePlace place);
  asio::awaitable<void> serve_file(ExchangePtr exchange, SandboxId sandbox, std::string token);
  asio::awaitable<void> log_in(ExchangePtr exchange, ServicePlace place);
  asio::awaitable<void> pass(ExchangePtr exchange, core::OpenLink link, ServicePlace place,
                             bool by_path, std::string target);
  Result<core::OpenLink> use(std::string_view token, const ServicePlace& place) const;
  Result<core::OpenLink> link_of(const http::RequestHead& head, const ServicePlace& place,
                                 bool cookies) const;

  core::Cay& cay_;
  GatewayConfig config_;
  KeptServices kept_;
  Event ending_;
  http::Handler host_handler_;
};

}  // namespace cay::api
