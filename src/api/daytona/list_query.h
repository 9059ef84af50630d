// Pages of lists: by number, or after a cursor.
#pragma once
#include <cstddef>

#include "base/result.h"
#include "codec/json.h"
#include "http/message.h"

namespace cay::api::daytona {

struct Page {
  std::size_t number = 1;
  std::size_t limit = 100;
  std::size_t offset() const { return (number - 1) * limit; }
};
// ?page, ?limit. Fails kInvalidArgument (invalid_query).
Result<Page> read_page(const http::Query& query);
// {items, total, page, totalPages}
codec::json::object page_json(codec::json::array items, std::size_t total, const Page& page);

}  // namespace cay::api::daytona
