#include "api/daytona/list.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "api/common/cursor.h"
#include "api/daytona/build.h"
#include "api/daytona/list_query.h"
#include "api/daytona/lookup.h"
#include "api/daytona/notes.h"
#include "api/daytona/sandboxes_json.h"
#include "codec/time.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

// One sandbox that a list may have, as text and as its row.
struct Candidate {
  Sandbox row;
  std::string state;
  std::shared_ptr<Creation> creation{};  // it is not made yet
};

// The filters whose values are times or numbers, each with its own reader of a row.
using Value = std::optional<std::int64_t> (*)(const Sandbox&);

std::optional<std::int64_t> destroyed_at(const Sandbox& row) {
  if (row.lifetime_s == 0) return std::nullopt;
  return row.created_at + row.lifetime_s * 1000;
}

struct Bound {
  const char* name;
  bool is_time;
  bool is_least;
  Value value;
};
constexpr Bound kBounds[] = {
    {"minCpu", false, true,
     [](const Sandbox& row) -> std::optional<std::int64_t> {
       return whole_cpus(row.limits.cpu_millicores);
     }},
    {"maxCpu", false, false,
     [](const Sandbox& row) -> std::optional<std::int64_t> {
       return whole_cpus(row.limits.cpu_millicores);
     }},
    {"minMemoryGiB", false, true,
     [](const Sandbox& row) -> std::optional<std::int64_t> {
       return whole_gib(row.limits.memory_bytes);
     }},
    {"maxMemoryGiB", false, false,
     [](const Sandbox& row) -> std::optional<std::int64_t> {
       return whole_gib(row.limits.memory_bytes);
     }},
    {"minDiskGiB", false, true,
     [](const Sandbox& row) -> std::optional<std::int64_t> {
       return whole_gib(row.limits.disk_bytes);
     }},
    {"maxDiskGiB", false, false,
     [](const Sandbox& row) -> std::optional<std::int64_t> {
       return whole_gib(row.limits.disk_bytes);
     }},
    {"createdAtAfter", true, true,
     [](const Sandbox& row) -> std::optional<std::int64_t> { return row.created_at; }},
    {"createdAtBefore", true, false,
     [](const Sandbox& row) -> std::optional<std::int64_t> { return row.created_at; }},
    {"lastEventAfter", true, true,
     [](const Sandbox& row) -> std::optional<std::int64_t> { return row.last_active_at; }},
    {"lastEventBefore", true, false,
     [](const Sandbox& row) -> std::optional<std::int64_t> { return row.last_active_at; }},
    {"autoDestroyAtAfter", true, true, destroyed_at},
    {"autoDestroyAtBefore", true, false, destroyed_at},
};

Result<std::int64_t> bound_in(const Bound& bound, std::string_view text) {
  if (bound.is_time) {
    if (const auto time = codec::from_rfc3339(text)) return *time;
    return invalid("invalid_query", std::string(bound.name) + " must be a time (RFC 3339)");
  }
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc() && end == text.data() + text.size()) return number;
  return invalid("invalid_query", std::string(bound.name) + " must be a whole number");
}

Result<std::map<std::string, std::string>> labels_in(const http::Query& query) {
  std::map<std::string, std::string> labels;
  const auto text = query.get("labels");
  if (!text || text->empty()) return labels;
  auto object = codec::parse_object(*text);
  if (!object) return invalid("invalid_query", "labels must be a JSON object of texts");
  for (const auto& [key, value] : *object) {
    if (!value.is_string())
      return invalid("invalid_query", "labels must be a JSON object of texts");
    labels[std::string(key)] = std::string(value.get_string());
  }
  return labels;
}

// Whether `text` is in the query's list of that name, or the query has none.
bool is_wanted(const http::Query& query, std::string_view name, std::string_view text) {
  auto wanted = query.all(name);
  const auto bracketed = query.all(std::string(name) + "[]");
  wanted.insert(wanted.end(), bracketed.begin(), bracketed.end());
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), text) != wanted.end();
}

bool agrees(const http::Query& query, std::string_view name, bool value) {
  const auto wanted = query.get(name);
  return !wanted || wanted->empty() || (*wanted == "true") == value;
}

bool is_listed(const http::Query& query, const Candidate& one,
               const std::map<std::string, std::string>& labels) {
  const Sandbox& row = one.row;
  for (const auto& [key, value] : labels) {
    const auto found = row.labels.find(key);
    if (found == row.labels.end() || found->second != value) return false;
  }
  const auto id = query.get("id").value_or("");
  const auto name = query.get("name").value_or("");
  if (!id.empty() && !row.id.get().starts_with(id)) return false;
  if (!name.empty() && row.name.find(name) == std::string::npos) return false;
  if (query.all("states").empty() && query.all("states[]").empty() && one.state == "destroying")
    return false;
  return is_wanted(query, "states", one.state) &&
         is_wanted(query, "snapshots", row.snapshot_name) &&
         is_wanted(query, "regionIds", "local") &&
         is_wanted(query, "sandboxClasses", "container") &&
         agrees(query, "isPublic", !note_of(row, kPublicNote).empty()) &&
         agrees(query, "isRecoverable", row.state == SandboxState::kFailed && !one.creation);
}

void sort_by(std::string_view key, bool ascending, std::vector<Candidate>& all) {
  const auto number = [key](const Sandbox& row) -> std::int64_t {
    if (key == "cpu") return row.limits.cpu_millicores;
    if (key == "memoryGib") return static_cast<std::int64_t>(row.limits.memory_bytes);
    if (key == "diskGib") return static_cast<std::int64_t>(row.limits.disk_bytes);
    if (key == "createdAt") return row.created_at;
    return row.last_active_at;
  };
  std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    const auto& one = ascending ? a.row : b.row;
    const auto& other = ascending ? b.row : a.row;
    if (key == "name") return one.name < other.name;
    if (number(one) != number(other)) return number(one) < number(other);
    return one.id.get() < other.id.get();
  });
}

Task<std::vector<Candidate>> listed(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const http::Query& query = exchange->head().query;
  CAY_CO_TRY(const auto labels, labels_in(query));
  SandboxQuery narrowed;
  for (const auto& [key, value] : labels) narrowed.labels.emplace_back(key, value);
  auto work = control->cay.sandboxes().list(exchange->principal(), std::move(narrowed));
  CAY_CO_TRY(SandboxPage page, co_await std::move(work));
  std::vector<Candidate> all;
  for (Sandbox& row : page.items) {
    std::string state(state_text(row));
    all.push_back({std::move(row), std::move(state)});
  }
  for (const auto& creation : control->creations.list(exchange->principal()))
    all.push_back({row_of(*creation), std::string(state_text(*creation)), creation});
  std::erase_if(all, [&](const Candidate& one) { return !is_listed(query, one, labels); });
  for (const Bound& bound : kBounds) {
    const auto text = query.get(bound.name);
    if (!text || text->empty()) continue;
    CAY_CO_TRY(const std::int64_t at, bound_in(bound, *text));
    std::erase_if(all, [&](const Candidate& one) {
      const auto value = bound.value(one.row);
      return !value || (bound.is_least ? *value < at : *value > at);
    });
  }
  const bool ascending = query.get("order") == "asc";
  sort_by(query.get("sort").value_or("lastActivityAt"), ascending, all);
  co_return all;
}

json::object as_item(const Candidate& one, const std::string& base) {
  json::object out = item_json(one.row, base);
  out["state"] = one.state;
  if (one.creation && !one.creation->error.empty())
    out["errorReason"] = codec::text(one.creation->error);
  return out;
}

// The query without its place in the list.
std::string filters_of(const http::Query& query) {
  std::string out;
  for (const auto& [name, value] : query.items()) {
    if (name != "cursor" && name != "limit") out += name + "=" + value + "\n";
  }
  return out;
}

}  // namespace

Task<http::Response> list_sandboxes(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const http::Query& query = exchange->head().query;
  CAY_CO_TRY(const Page page, read_page(query));
  const std::string filters = filters_of(query);
  std::size_t offset = 0;
  if (const auto cursor = query.get("cursor"); cursor && !cursor->empty()) {
    const auto at = offset_of_cursor(*cursor, filters);
    if (!at) co_return invalid("invalid_query", "Invalid cursor: it is of another query");
    offset = *at;
  }
  CAY_CO_TRY(const auto all, co_await listed(control, exchange));
  json::array items;
  const std::string base = base_url(exchange->head());
  const std::size_t end = std::min(all.size(), offset + page.limit);
  for (std::size_t i = offset; i < end; ++i) items.emplace_back(as_item(all[i], base));
  json::object out{{"items", std::move(items)}, {"nextCursor", nullptr}};
  if (end < all.size()) out["nextCursor"] = cursor_at(static_cast<std::uint32_t>(end), filters);
  co_return json_answer(200, out);
}

Task<http::Response> page_sandboxes(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const Page page, read_page(exchange->head().query));
  CAY_CO_TRY(const auto all, co_await listed(control, exchange));
  json::array items;
  const std::string base = base_url(exchange->head());
  for (std::size_t i = page.offset(); i < std::min(all.size(), page.offset() + page.limit); ++i) {
    items.emplace_back(all[i].creation ? creation_json(*all[i].creation, base)
                                       : sandbox_json(all[i].row, base));
  }
  co_return json_answer(200, page_json(std::move(items), all.size(), page));
}

}  // namespace cay::api::daytona
