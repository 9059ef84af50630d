// Helpers of every native handler for reading a request.
#pragma once
#include <optional>
#include <string>

#include "api/common/answer.h"
#include "codec/fields.h"
#include "model/file.h"

namespace cay::api::native {

inline constexpr std::size_t kBodyLimit = 1 << 20;
inline constexpr std::size_t kBatchBodyLimit = 64 << 20;

// The path parameter; routes.cc guarantees that it is there.
std::string param(http::Exchange& exchange, const std::string& name);
std::string query_or(http::Exchange& exchange, std::string_view name, std::string_view otherwise);
// Fails invalid_query, naming the parameter.
Result<bool> query_bool(http::Exchange& exchange, std::string_view name, bool otherwise);
Result<std::uint64_t> query_number(http::Exchange& exchange, std::string_view name,
                                   std::uint64_t otherwise, std::uint64_t min, std::uint64_t max);
// A position in a numbered list: the number of the last entry that was seen, or `now`.
struct Position {
  std::uint64_t after = 0;
  bool from_now = false;
};
Result<Position> position_of(std::string_view text, const char* name);
// "KEY" or "KEY=VALUE".
Result<std::pair<std::string, std::optional<std::string>>> label_filter(std::string_view text);
// ?path= and ?user=.
Result<std::string> query_path(http::Exchange& exchange);
FileAs query_as(http::Exchange& exchange);
FileAs file_as(std::string user);
// Whether the client accepts lines of JSON as they come.
bool wants_lines(const http::RequestHead& head);

// Returns the body as an object. No body counts as {} if `empty` allows it.
Task<codec::json::object> body_object(ExchangePtr exchange, std::size_t limit,
                                      codec::Empty empty = codec::Empty::kRefused);

}  // namespace cay::api::native
