// GET …/commands: what is kept of a sandbox's commands, whole or in pages.
#include <algorithm>
#include <charconv>
#include <compare>

#include "api/native/handlers.h"
#include "api/native/items.h"
#include "api/native/request.h"
#include "core/verbs/commands.h"

namespace cay::api::native {

using codec::json::object;

namespace {

constexpr std::uint64_t kLargestPage = 1000;

// The end of a page: behind one command in the list's own order, whatever is forgotten between two
// pages.
struct Place {
  UnixMillis started_at = 0;
  std::string id;
  auto operator<=>(const Place&) const = default;
};

Place place_of(const Command& command) { return {command.started_at, command.id.get()}; }

std::string cursor_of(const Place& place) {
  return std::to_string(place.started_at) + "." + place.id;
}

Result<Place> read_cursor(std::string_view text) {
  Place out;
  const auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), out.started_at);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (failed != std::errc() || digits + 1 >= text.size() || text[digits] != '.') {
    return invalid("invalid_query", "cursor= is not one of this list");
  }
  out.id = text.substr(digits + 1);
  return out;
}

// As codec::to_json writes it, or a little more.
std::uint64_t json_size(const Command& command) {
  constexpr std::uint64_t kFixed = 1200;  // names of members, the longest numbers
  constexpr std::uint64_t kQuotes = 3;
  std::uint64_t size = kFixed;
  for (const std::string& argument : command.argv) size += kQuotes + text_size(argument);
  for (const std::string* text :
       {&command.cwd, &command.user, &command.end.by, &command.end.reason, &command.end.witness})
    size += text_size(*text);
  return size + command.id.get().size();
}

}  // namespace

Task<http::Response> list_commands(core::Cay& cay, ExchangePtr exchange) {
  const auto limit = query_number(*exchange, "limit", 0, 1, kLargestPage);
  if (!limit) co_return limit.error();
  Place after;
  if (const auto cursor = exchange->head().query.get("cursor")) {
    auto read = read_cursor(*cursor);
    if (!read) co_return std::move(read).error();
    after = *std::move(read);
  }
  const auto got = co_await cay.commands().list(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return got.error();

  const auto first = std::ranges::upper_bound(*got, after, {}, place_of);
  const auto left = static_cast<std::uint64_t>(got->end() - first);
  const auto last =
      first + static_cast<std::ptrdiff_t>(*limit == 0 ? left : std::min(left, *limit));
  auto items = items_json(std::ranges::subrange(first, last), json_size, "commands",
                          "ask for pages (limit=, cursor=)");
  if (!items) co_return std::move(items).error();
  object out{{"items", *std::move(items)}, {"next_cursor", nullptr}};
  if (last != got->end()) out["next_cursor"] = cursor_of(place_of(*(last - 1)));
  co_return json_answer(200, out);
}

}  // namespace cay::api::native
