// GET .../programs: a page of the program record.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/program_json.h"
#include "core/verbs/inspection.h"

namespace cay::api::native {
namespace {

constexpr std::uint64_t kUsualItems = 100;
constexpr std::uint64_t kMostItems = 1000;

}  // namespace

Task<http::Response> sandbox_programs(core::Cay& cay, ExchangePtr exchange) {
  auto offset = query_number(*exchange, "offset", 0, 0, INT64_MAX);
  if (!offset) co_return std::move(offset).error();
  auto limit = query_number(*exchange, "limit", kUsualItems, 1, kMostItems);
  if (!limit) co_return std::move(limit).error();
  auto page = co_await cay.inspection().programs(exchange->principal(), param(*exchange, "ref"),
                                                 *offset, static_cast<std::uint32_t>(*limit));
  if (!page) co_return std::move(page).error();
  auto response = json_answer(200, codec::to_json(*page));
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

}  // namespace cay::api::native
