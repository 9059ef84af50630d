// The two styles of paging that LangSmith's clients use (protocol reference, endpoint 2).
#pragma once
#include <string>

#include "codec/json.h"
#include "http/message.h"
#include "model/principal.h"
#include "model/sandbox.h"

namespace cay::api::langsmith {

struct ListQuery {
  SandboxQuery query;
  bool by_cursor = false;
  std::string spelling;  // what a cursor is bound to
};

// A refusal: 400 for the new style, 422 for the old one.
struct ListRefusal {
  int status = 400;
  std::string message;
};

std::variant<ListQuery, ListRefusal> read_list_query(const http::Query& query,
                                                     const Principal& who);

// {"<name>":[…],"items":[…],"next_cursor":…,"offset":…}
codec::json::object page_json(const char* name, codec::json::array items, bool more,
                              const ListQuery& asked);

}  // namespace cay::api::langsmith
