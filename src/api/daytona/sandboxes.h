// The routes of one sandbox that exists: its state, and what ends or copies it.
#pragma once
#include "api/daytona/control.h"

namespace cay::api::daytona {

using SharedControl = std::shared_ptr<Control>;

Task<http::Response> get_sandbox(SharedControl control, ExchangePtr exchange);
Task<http::Response> delete_sandbox(SharedControl control, ExchangePtr exchange);
// They return once the state is reached, so that the client need not wait.
Task<http::Response> start_sandbox(SharedControl control, ExchangePtr exchange);
Task<http::Response> stop_sandbox(SharedControl control, ExchangePtr exchange);
Task<http::Response> pause_sandbox(SharedControl control, ExchangePtr exchange);
Task<http::Response> recover_sandbox(SharedControl control, ExchangePtr exchange);
// Marks a stopped sandbox, whose disk stays where it is.
Task<http::Response> archive_sandbox(SharedControl control, ExchangePtr exchange);
// Limits count from a start on, so the sandbox must be stopped.
Task<http::Response> resize_sandbox(SharedControl control, ExchangePtr exchange);
Task<http::Response> fork_sandbox(SharedControl control, ExchangePtr exchange);
Task<http::Response> snapshot_sandbox(SharedControl control, ExchangePtr exchange);
// Forks by their source, and back.
Task<http::Response> list_forks(SharedControl control, ExchangePtr exchange);
Task<http::Response> get_parent(SharedControl control, ExchangePtr exchange);
Task<http::Response> list_ancestors(SharedControl control, ExchangePtr exchange);

}  // namespace cay::api::daytona
