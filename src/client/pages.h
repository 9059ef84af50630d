// all_pages: a list that the daemon answers in pages, whole.
#pragma once
#include <iterator>
#include <string>
#include <vector>

#include "client/connection.h"
#include "client/json_read.h"

namespace cay::client {

// `target` has a query already, with a limit=.
template <class Item>
Task<std::vector<Item>> all_pages(Connection& at, std::string target,
                                  Item (*read)(const json::object&)) {
  std::vector<Item> out;
  std::string cursor;
  do {
    const std::string from =
        cursor.empty() ? std::string() : "&cursor=" + http::encode_segment(cursor);
    auto page = co_await at.call_json("GET", target + from);
    if (!page) co_return std::move(page).error();
    auto items = list_from(*page, "items", read);
    out.insert(out.end(), std::make_move_iterator(items.begin()),
               std::make_move_iterator(items.end()));
    cursor = string_in(*page, "next_cursor");
  } while (!cursor.empty());
  co_return out;
}

}  // namespace cay::client
