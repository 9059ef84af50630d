// GET /sandbox: sandboxes by labels, states and sizes, page by page.
#pragma once
#include "api/daytona/control.h"

namespace cay::api::daytona {

// After a cursor: {items, nextCursor}.
Task<http::Response> list_sandboxes(std::shared_ptr<Control> control, ExchangePtr exchange);
// By page, for clients up to 0.175: {items, total, page, totalPages}.
Task<http::Response> page_sandboxes(std::shared_ptr<Control> control, ExchangePtr exchange);

}  // namespace cay::api::daytona
