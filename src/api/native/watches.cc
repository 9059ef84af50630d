// Routes about watched directories. Their events come as a page, as lines of JSON that go on, or as
// the messages of a WebSocket.
#include "api/common/audit_subjects.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "async/scope.h"
#include "async/until_set.h"
#include "codec/model_json.h"
#include "core/verbs/file_watches.h"

#include <boost/asio/this_coro.hpp>

namespace cay::api::native {
namespace {

using codec::json::array;
using codec::json::object;

constexpr std::uint32_t kMostEvents = 10'000;
constexpr std::uint64_t kLongestWait = 60;  // seconds
constexpr std::chrono::seconds kQuiet{15};  // then a line keeps proxies from ending the stream
constexpr std::uint32_t kEventsOfAPiece = 500;
constexpr int kNormalEnd = 1000;
constexpr std::size_t kMostFromClient = 4096;  // bytes of a message, which nobody needs
constexpr std::int64_t kDefaultIdle = 300, kMostIdle = 86'400;

object watch_json(const WatchInfo& info) {
  object out{{"id", info.id},
             {"path", codec::text(info.path)},
             {"user", codec::text(info.user)},
             {"recursive", info.recursive},
             {"idle_s", info.idle_s},
             {"first", info.first},
             {"last", info.last}};
  if (info.ended) out["ended"] = codec::to_json(*info.ended, note_error(*info.ended));
  return out;
}

// {"kind":"gap","seq":9,"from":3,"through":9}: those events are kept no more.
object missing_json(const WatchPage& page) {
  return {
      {"kind", "gap"}, {"seq", page.gap_end}, {"from", page.gap_begin}, {"through", page.gap_end}};
}

struct Place {
  Principal who;
  std::string ref, id;
  std::uint64_t after = 0;
};

class EventLines final : public ByteSource {
 public:
  EventLines(core::Cay& cay, Place place, WatchPage first)
      : cay_(cay), place_(std::move(place)), page_(std::move(first)) {}

  Task<Bytes> next() override {
    if (ended_) co_return Bytes();
    if (!page_) {
      auto page = co_await cay_.file_watches().read(place_.who, place_.ref, place_.id, place_.after,
                                                    kEventsOfAPiece, kQuiet);
      if (!page) {
        ended_ = true;
        co_return end_line(page.error());
      }
      page_ = *std::move(page);
    }
    Bytes out;
    if (page_->gap_begin != 0) out += codec::write(missing_json(*page_)) + "\n";
    for (const FileEvent& event : page_->items) out += codec::write(codec::to_json(event)) + "\n";
    place_.after = page_->next_after;
    if (page_->ended) {
      ended_ = true;
      out += end_line(*page_->ended);
    }
    page_.reset();
    if (out.empty()) out = codec::write(object{{"kind", "quiet"}, {"seq", place_.after}}) + "\n";
    co_return std::move(out);
  }

 private:
  Bytes end_line(const Error& error) const {
    return codec::write(object{{"kind", "end"},
                               {"seq", place_.after},
                               {"error", codec::to_json(error, note_error(error))}}) +
           "\n";
  }

  core::Cay& cay_;
  Place place_;
  std::optional<WatchPage> page_;
  bool ended_ = false;
};

// Sends each line as a message of a WebSocket, until the watch ends or the client leaves.
class EventSocket {
 public:
  EventSocket(std::unique_ptr<http::WebSocket> socket, EventLines lines,
              const asio::any_io_executor& executor)
      : socket_(std::move(socket)),
        lines_(std::move(lines)),
        executor_(executor),
        left_(executor) {}

  asio::awaitable<void> run() {
    Scope listening(executor_);
    listening.spawn(until_client_leaves());
    auto sending = send_and_close();
    co_await listening.until(std::move(sending));
  }

 private:
  // The client has nothing to send.
  asio::awaitable<void> until_client_leaves() {
    for (;;) {
      const auto message = co_await socket_->read();
      if (message.kind == http::WsMessage::Kind::kTooLong)
        co_await socket_->close(http::WebSocket::kTooLongCode, message.data);
      if (message.kind == http::WsMessage::Kind::kClosed) break;
    }
    left_.set();
  }

  // The close needs the reader, which is cancelled afterwards.
  asio::awaitable<void> send_and_close() {
    auto sending = send_all();
    co_await std::move(sending);
    co_await socket_->close(kNormalEnd, "");
  }

  asio::awaitable<void> send_all() {
    const Error left{Code::kUnavailable, "connection_lost", "the client left", 0};
    for (;;) {
      auto next = lines_.next();
      auto piece = co_await until_set(std::move(next), left_, left);
      if (!piece || piece->empty()) co_return;
      std::string_view text = *piece;
      while (!text.empty()) {
        const auto end = text.find('\n');
        std::string line(text.substr(0, end));
        text.remove_prefix(end + 1);
        auto sent = co_await socket_->send_text(std::move(line));
        if (!sent) co_return;
      }
    }
  }

  std::unique_ptr<http::WebSocket> socket_;
  EventLines lines_;
  asio::any_io_executor executor_;
  Event left_;  // the client
};

}  // namespace

Task<http::Response> create_watch(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  WatchSpec spec;
  spec.idle_s = kDefaultIdle;
  if (!fields.read("path", spec.path) && fields.ok()) fields.complain("path", "is needed");
  fields.read("recursive", spec.recursive);
  fields.read("idle_s", spec.idle_s, 1, kMostIdle);
  fields.read("user", spec.as.user);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  exchange->note_subject(path_subject(spec.path));
  auto watch =
      co_await cay.file_watches().open(exchange->principal(), param(*exchange, "ref"), spec);
  if (!watch) co_return std::move(watch).error();
  co_return json_answer(201, watch_json(*watch));
}

Task<http::Response> list_watches(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.file_watches().list(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  array items;
  for (const WatchInfo& info : *got) items.emplace_back(watch_json(info));
  co_return json_answer(200, object{{"items", std::move(items)}});
}

Task<http::Response> delete_watch(core::Cay& cay, ExchangePtr exchange) {
  auto gone = co_await cay.file_watches().close(exchange->principal(), param(*exchange, "ref"),
                                                param(*exchange, "id"));
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

Task<void> watch_events(core::Cay& cay, ExchangePtr exchange) {
  auto limit = query_number(*exchange, "limit", 1000, 1, kMostEvents);
  if (!limit) co_return std::move(limit).error();
  auto wait = query_number(*exchange, "wait_s", 0, 0, kLongestWait);
  if (!wait) co_return std::move(wait).error();
  auto after = query_number(*exchange, "after", 0, 0, std::uint64_t{1} << 53);
  if (!after) co_return std::move(after).error();
  Place place{exchange->principal(), param(*exchange, "ref"), param(*exchange, "id"), *after};
  const bool on_socket = exchange->head().wants_websocket;
  const bool lines = on_socket || wants_lines(exchange->head());
  const std::chrono::seconds patience(lines ? 0 : *wait);
  const auto most = lines ? kEventsOfAPiece : static_cast<std::uint32_t>(*limit);
  auto page =
      co_await cay.file_watches().read(place.who, place.ref, place.id, place.after, most, patience);
  if (!page) co_return std::move(page).error();
  if (on_socket) {
    auto socket = co_await exchange->upgrade(kMostFromClient);
    if (!socket) co_return std::move(socket).error();
    const auto executor = co_await asio::this_coro::executor;
    EventSocket events(*std::move(socket), EventLines(cay, std::move(place), *std::move(page)),
                       executor);
    co_await events.run();
    co_return Result<void>();
  }
  http::Headers headers;
  headers.add("Cache-Control", "no-store");
  if (lines) {
    headers.add("Content-Type", "application/x-ndjson");
    auto source = std::make_unique<EventLines>(cay, std::move(place), *std::move(page));
    co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(source));
    co_return Result<void>();
  }
  array items;
  if (page->gap_begin != 0) items.emplace_back(missing_json(*page));
  for (const FileEvent& event : page->items) items.emplace_back(codec::to_json(event));
  object out{{"items", std::move(items)}, {"next_after", page->next_after}};
  if (page->ended) out["ended"] = codec::to_json(*page->ended, note_error(*page->ended));
  auto response = json_answer(200, out);
  response.headers.set("Cache-Control", "no-store");
  auto room = find_room(cay, *exchange, response);
  if (!room) co_return std::move(room).error();
  co_await exchange->respond(std::move(response));
  co_return Result<void>();
}

}  // namespace cay::api::native
