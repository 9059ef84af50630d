#include "api/daytona/list_query.h"

#include <charconv>

#include "api/common/answer.h"

namespace cay::api::daytona {
namespace {

constexpr std::size_t kMostPage = 1'000'000;
constexpr std::size_t kMostLimit = 1'000;

Result<void> read_count(const http::Query& query, std::string_view name, std::size_t most,
                        std::size_t& out) {
  const auto text = query.get(name);
  if (!text || text->empty()) return {};
  std::size_t number = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failure != std::errc() || end != text->data() + text->size() || number < 1 || number > most) {
    return invalid("invalid_query", std::string(name) + " must be a positive integer of at most " +
                                        std::to_string(most));
  }
  out = number;
  return {};
}

}  // namespace

Result<Page> read_page(const http::Query& query) {
  Page page;
  CAY_CHECK(read_count(query, "page", kMostPage, page.number));
  CAY_CHECK(read_count(query, "limit", kMostLimit, page.limit));
  return page;
}

codec::json::object page_json(codec::json::array items, std::size_t total, const Page& page) {
  return {{"items", std::move(items)},
          {"total", total},
          {"page", page.number},
          {"totalPages", (total + page.limit - 1) / page.limit}};
}

}  // namespace cay::api::daytona
