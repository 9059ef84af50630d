// items_json: a list in an answer, refused with words where it is more than one answer holds.
#pragma once
#include <ranges>
#include <string>
#include <string_view>

#include "api/common/answer_size.h"
#include "codec/model_json.h"

namespace cay::api::native {

// `size` returns the size of one as JSON, or a little more. Fails kExhausted (listing_too_large)
// with the number of `things`, and `advice`.
template <class Items, class Size>
Result<codec::json::array> items_json(const Items& found, Size size, std::string_view things,
                                      std::string_view advice) {
  std::uint64_t all = 0;
  for (const auto& item : found) all += size(item);
  const auto count = static_cast<std::size_t>(std::ranges::size(found));
  if (all > kMostAnswer) {
    return Error{
        Code::kExhausted, "listing_too_large",
        std::to_string(count) + " " + std::string(things) +
            " are more than the 64 MiB of JSON that one answer holds: " + std::string(advice),
        0};
  }
  codec::json::array items;
  items.reserve(count);
  for (const auto& item : found) items.emplace_back(codec::to_json(item));
  return items;
}

}  // namespace cay::api::native
