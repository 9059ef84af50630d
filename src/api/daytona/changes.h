// The routes that change settings of a sandbox.
#pragma once
#include "api/daytona/control.h"

namespace cay::api::daytona {

// PUT labels: replaces all.
Task<http::Response> put_labels(std::shared_ptr<Control> control, ExchangePtr exchange);
// POST {kind}/{minutes}: autostop, autopause, autoarchive, autodelete, ttl.
Task<http::Response> set_auto_stop(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> set_auto_pause(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> set_auto_archive(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> set_auto_delete(std::shared_ptr<Control> control, ExchangePtr exchange);
// From now on, so many minutes. 0: none.
Task<http::Response> set_ttl(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> set_public(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> set_network(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> put_secrets(std::shared_ptr<Control> control, ExchangePtr exchange);
// Begins the idle time anew.
Task<http::Response> note_activity(std::shared_ptr<Control> control, ExchangePtr exchange);

}  // namespace cay::api::daytona
