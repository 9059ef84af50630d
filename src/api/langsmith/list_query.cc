#include "api/langsmith/list_query.h"

#include <algorithm>
#include <charconv>

#include "api/common/cursor.h"
#include "base/ascii.h"

namespace cay::api::langsmith {
namespace {

constexpr std::uint32_t kPlainLimit =
    500;  // the clients' own list call sends nothing and reads one page

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<SandboxSort> sort_from(std::string_view text) {
  if (text == "name") return SandboxSort::kName;
  if (text == "status") return SandboxSort::kState;
  if (text == "created_at") return SandboxSort::kCreatedAt;
  if (text == "stopped_at") return SandboxSort::kStoppedAt;
  if (text == "idle_ttl_seconds") return SandboxSort::kIdleTtl;
  if (text == "delete_after_stop_seconds") return SandboxSort::kDeleteAfterStop;
  return std::nullopt;
}

std::optional<bool> descending_from(std::string_view text) {
  const std::string word = lowered(text);
  if (word == "asc") return false;
  if (word == "desc") return true;
  return std::nullopt;
}

}  // namespace

std::variant<ListQuery, ListRefusal> read_list_query(const http::Query& query,
                                                     const Principal& who) {
  ListQuery out;
  const bool fresh = query.get("page_size") || query.get("cursor") || query.get("sort_order");
  const bool old = query.get("limit") || query.get("offset") || query.get("sort_by") ||
                   query.get("sort_direction");
  if (fresh && old)
    return ListRefusal{
        400, "page_size and cursor do not go with limit, offset or sort_by: use one style"};
  const int status = fresh ? 400 : 422;
  out.by_cursor = fresh;
  out.query.limit = fresh ? 20 : old ? 50 : kPlainLimit;
  const auto ranged = [&](const char* name, std::uint32_t low, std::uint32_t high,
                          std::uint32_t& target) {
    const auto text = query.get(name);
    if (!text) return true;
    const auto value = number(*text);
    if (!value || *value < low || *value > high) return false;
    target = *value;
    return true;
  };
  if (!ranged("page_size", 1, 100, out.query.limit))
    return ListRefusal{status, "page_size is 1 to 100"};
  if (!ranged("limit", 1, 500, out.query.limit)) return ListRefusal{status, "limit is 1 to 500"};
  if (!ranged("offset", 0, 1u << 30, out.query.offset))
    return ListRefusal{status, "offset is 0 or more"};
  if (const auto text = query.get("sort_by")) {
    const auto sort = sort_from(*text);
    if (!sort)
      return ListRefusal{status,
                         "sort_by is one of name, status, created_at, stopped_at, "
                         "idle_ttl_seconds, delete_after_stop_seconds"};
    out.query.sort = *sort;
  }
  for (const char* name : {"sort_order", "sort_direction"}) {
    if (const auto text = query.get(name)) {
      const auto descending = descending_from(*text);
      if (!descending) return ListRefusal{status, std::string(name) + " is asc or desc"};
      out.query.descending = *descending;
    }
  }
  if (const auto text = query.get("name_contains")) out.query.name_contains = std::string(*text);
  if (const auto text = query.get("status")) {
    out.query.state = sandbox_state_from(*text);
    if (!out.query.state)
      return ListRefusal{status, "status is one of provisioning, ready, failed, stopped, deleting"};
  }
  if (const auto text = query.get("created_by")) {
    if (*text != "me") return ListRefusal{status, "created_by takes only 'me'"};
    out.query.created_by = who.key_name;
  }
  for (const auto label : query.all("label")) {
    const auto equals = label.find('=');
    if (equals == std::string_view::npos) {
      out.query.labels.emplace_back(std::string(label), std::nullopt);
    } else {
      out.query.labels.emplace_back(std::string(label.substr(0, equals)),
                                    std::string(label.substr(equals + 1)));
    }
  }
  for (const auto& [name, value] : query.items()) {
    if (name != "cursor" && name != "page_size") out.spelling += name + "=" + value + "\n";
  }
  if (const auto cursor = query.get("cursor")) {
    const auto offset = offset_of_cursor(*cursor, out.spelling);
    if (!offset)
      return ListRefusal{400, "this cursor is not of this list: begin again without one"};
    out.query.offset = *offset;
  }
  return out;
}

codec::json::object page_json(const char* name, codec::json::array items, bool more,
                              const ListQuery& asked) {
  const auto next = static_cast<std::uint32_t>(asked.query.offset + items.size());
  codec::json::object out;
  out[name] = items;
  out["items"] = std::move(items);
  out["next_cursor"] = nullptr;
  if (more && asked.by_cursor) out["next_cursor"] = cursor_at(next, asked.spelling);
  out["offset"] = more ? next : 0;
  return out;
}

}  // namespace cay::api::langsmith
