// An answer of plain text.
#pragma once
#include <string>
#include <utility>

#include "http/message.h"

namespace cay::http::testing {

inline Response text(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain");
  response.body = std::move(body);
  return response;
}

}  // namespace cay::http::testing
