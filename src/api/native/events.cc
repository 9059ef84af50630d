// GET /events: a page, a page that waits (long poll), or a stream of server-sent events.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/event_json.h"
#include "core/verbs/events.h"

namespace cay::api::native {
namespace {

constexpr std::uint64_t kMostItems = 1000;
constexpr std::uint64_t kLongestWait = 60;               // seconds
constexpr std::chrono::milliseconds kHeartbeat{15'000};  // so that proxies keep a quiet stream open

Result<void> read_position(std::string_view text, const char* name, EventQuery& query) {
  CAY_TRY(const Position position, position_of(text, name));
  query.after = position.after;
  query.from_now = position.from_now;
  return {};
}

Result<EventQuery> query_of(http::Exchange& exchange) {
  EventQuery out;
  const auto& head = exchange.head();
  const auto last_id =
      head.headers.get("Last-Event-ID");  // a stream that goes on: newer than the URL
  const auto after = head.query.get("after");
  if (last_id && !last_id->empty()) {
    CAY_CHECK(read_position(*last_id, "Last-Event-ID", out));
  } else if (after) {
    CAY_CHECK(read_position(*after, "after=", out));
  } else {
    out.from_oldest = true;
  }
  CAY_TRY(const std::uint64_t limit, query_number(exchange, "limit", 100, 1, kMostItems));
  out.limit = static_cast<std::uint32_t>(limit);
  out.sandbox = query_or(exchange, "sandbox", "");
  for (const std::string_view type : head.query.all("type")) out.types.emplace_back(type);
  if (out.types.size() > 32) return invalid("invalid_query", "type= at most 32 times");
  return out;
}

// One server-sent event: JSON has no line breaks of its own.
void put(Bytes& out, std::uint64_t id, std::string_view kind, const codec::json::value& data) {
  out += "id: " + std::to_string(id) + "\nevent: ";
  out += kind;
  out += "\ndata: " + codec::write(data) + "\n\n";
}

class EventStream : public ByteSource {
 public:
  EventStream(core::Cay& cay, Principal who, EventQuery query)
      : cay_(cay), who_(std::move(who)), query_(std::move(query)) {}

  Task<Bytes> next() override {
    if (cay_.events().ended()) co_return Bytes();
    if (!greeted_) {
      greeted_ = true;  // the head goes out at once, whether or not anything happens
      co_return Bytes("retry: 1000\n\n");
    }
    auto page = co_await cay_.events().follow(who_, query_, kHeartbeat);
    if (!page) co_return std::move(page).error();
    Bytes out;
    if (page->gap_begin != 0) put(out, page->gap_end, "gap", codec::gap_json(*page));
    for (const auto& event : page->items) put(out, event.seq, event.type, codec::to_json(event));
    query_.after = page->next_after;
    query_.from_oldest = false;
    query_.from_now = false;
    if (out.empty() && !cay_.events().ended()) out = ":\n\n";
    co_return std::move(out);
  }

 private:
  core::Cay& cay_;
  Principal who_;
  EventQuery query_;
  bool greeted_ = false;
};

bool wants_stream(const http::RequestHead& head) {
  const auto accept = head.headers.get("Accept");
  return accept && accept->find("text/event-stream") != std::string_view::npos;
}

}  // namespace

Task<void> events(core::Cay& cay, ExchangePtr exchange) {
  auto query = query_of(*exchange);
  if (!query) co_return std::move(query).error();
  auto wait = query_number(*exchange, "wait_s", 0, 0, kLongestWait);
  if (!wait) co_return std::move(wait).error();
  const Principal who = exchange->principal();
  if (wants_stream(exchange->head())) {
    // A position that cannot be is an ordinary error, not a broken stream.
    auto looked = co_await cay.events().read(who, *query);
    if (!looked) co_return std::move(looked).error();
    if (query->from_now) {
      query->from_now = false;
      query->after = looked->last;
    }
    http::Headers headers;
    headers.add("Content-Type", "text/event-stream");
    headers.add("Cache-Control", "no-store");
    auto source = std::make_unique<EventStream>(cay, who, *std::move(query));
    co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(source));
    co_return Result<void>();
  }
  auto page = co_await cay.events().follow(who, *std::move(query), std::chrono::seconds(*wait));
  if (!page) co_return std::move(page).error();
  auto response = json_answer(200, codec::to_json(*page));
  response.headers.set("Cache-Control", "no-store");
  auto room = find_room(cay, *exchange, response);
  if (!room) co_return std::move(room).error();
  co_await exchange->respond(std::move(response));
  co_return Result<void>();
}

}  // namespace cay::api::native
