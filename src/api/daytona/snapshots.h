// The routes of /snapshots, and the logs of builds.
#pragma once
#include <string>

#include "api/daytona/control.h"

namespace cay::api::daytona {

Task<http::Response> create_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> list_snapshots(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> get_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> delete_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange);
// A snapshot of Cay is always active.
Task<http::Response> activate_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> deactivate_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange);

// Returns the URL of a build's log, for a snapshot and for a sandbox that was built.
Task<http::Response> build_logs_url(std::shared_ptr<Control> control, ExchangePtr exchange);
// The log as text. With ?follow=true it lasts until the build is over.
Task<void> stream_build_logs(std::shared_ptr<Control> control, ExchangePtr exchange);

// Fails kAlreadyExists, in the vendor's words, if the tenant has a snapshot of that name.
Task<void> check_free(std::shared_ptr<Control> control, ExchangePtr exchange, std::string name);

}  // namespace cay::api::daytona
