#include "api/outbound/webhooks.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>

#include "api/outbound/webhook_signature.h"
#include "async/deadline.h"
#include "codec/event_json.h"
#include "codec/time.h"
#include "core/verbs/events.h"
#include "http/client.h"

namespace cay::api {
namespace {

constexpr std::chrono::seconds kFollow{60};
constexpr Millis kStorePause{5'000};
constexpr int kFirstSuccess = 200;
constexpr int kFirstRedirect = 300;
constexpr int kFirstRefusal = 400;

Error bad(const std::string& name, const std::string& why) {
  return {Code::kInvalidArgument, "bad_webhook", "webhook '" + name + "': " + why, 0};
}

class Sender final : public Webhook {
 public:
  Sender(asio::any_io_executor loop, core::Cay& cay, core::Store& store, WebhookConfig config,
         WebhookTiming timing, std::unique_ptr<http::Client> client, std::string target)
      : loop_(std::move(loop)),
        cay_(cay),
        store_(store),
        config_(std::move(config)),
        timing_(timing),
        client_(std::move(client)),
        target_(std::move(target)) {}

  asio::awaitable<void> run() override {
    EventQuery query;
    query.types = config_.events;
    for (;;) {
      auto begun = where_to_begin(query);
      if (begun) break;
      spdlog::warn("webhook {}: {}", config_.name, begun.error().message);
      co_await sleep_for(kStorePause);
    }
    const Principal who{TenantId(config_.tenant), "webhook"};
    for (;;) {
      auto page = co_await cay_.events().follow(who, query, kFollow);
      if (!page) {
        co_await recover(query, page.error());
        continue;
      }
      if (page->gap_begin != 0) {
        EventRecord gap;
        gap.seq = page->gap_end;
        gap.type = "gap";
        auto data = codec::gap_json(*page);
        co_await deliver(gap, std::move(data));
      }
      for (std::size_t i = 0; i < page->items.size(); ++i) {
        const EventRecord event = page->items[i];
        codec::json::value data = codec::to_json(event);
        co_await deliver(event, std::move(data));
      }
      if (page->next_after != query.after) acknowledge(page->next_after);
      query.after = page->next_after;
      query.from_now = false;
      if (cay_.events().ended()) co_return;
    }
  }

 private:
  std::string meta_key() const { return "webhook:" + config_.name; }

  // Behind what was acknowledged; a new webhook begins with what happens from now on.
  Result<void> where_to_begin(EventQuery& query) {
    CAY_TRY(const auto kept, store_.get_meta(meta_key()));
    if (kept) {
      std::from_chars(kept->data(), kept->data() + kept->size(), query.after);
      return {};
    }
    EventQuery last;
    last.from_now = true;
    CAY_TRY(const EventPage page, store_.events(TenantId(config_.tenant), last));
    query.after = page.last;
    return store_.put_meta(meta_key(), std::to_string(page.last));
  }

  asio::awaitable<void> recover(EventQuery& query, Error error) {
    spdlog::warn("webhook {}: {}", config_.name, error.message);
    if (error.reason == "event_ahead") query.after = 0;  // another journal: all of it is news
    co_await sleep_for(kStorePause);
  }

  void acknowledge(std::uint64_t seq) {
    const auto kept = store_.put_meta(meta_key(), std::to_string(seq));
    if (!kept)
      spdlog::warn("webhook {}: what was acknowledged is not written: {}", config_.name,
                   kept.error().message);
  }

  // Tries until it is taken.
  asio::awaitable<void> deliver(EventRecord event, codec::json::value data) {
    const std::string id = "cay-" + config_.name + "-" + std::to_string(event.seq) +
                           (event.type == "gap" ? "-gap" : "");
    const UnixMillis at = event.at != 0 ? event.at : system_clock().wall();
    const codec::json::object message{
        {"type", event.type}, {"timestamp", codec::rfc3339(at)}, {"data", std::move(data)}};
    const std::string body = codec::write(message);
    Millis pause = timing_.first_pause;
    for (;;) {
      auto sending = attempt(id, body);
      auto sent = co_await with_deadline(std::move(sending), timing_.answer_limit,
                                         "the webhook's receiver");
      const Metrics::Labels labels{{"webhook", config_.name}};
      if (sent) {
        cay_.metrics().count("cay_webhook_deliveries_total",
                             "Events that a webhook's receiver took.", labels);
        acknowledge(event.seq);
        co_return;
      }
      cay_.metrics().count("cay_webhook_failures_total", "Attempts to deliver that failed.",
                           labels);
      spdlog::warn("webhook {}: event {} not taken, again in {} ms: {}", config_.name, event.seq,
                   pause.count(), sent.error().message);
      co_await sleep_for(pause);
      pause = std::min(pause * 2, timing_.longest_pause);
    }
  }

  Task<void> attempt(std::string id, std::string body) {
    constexpr std::int64_t kMillis = 1000;
    const std::int64_t now =
        system_clock().wall() / kMillis;  // of this attempt: receivers refuse old ones
    http::ClientRequest request;
    request.method = "POST";
    request.target = target_;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("User-Agent", "cay-webhook");
    request.headers.add("webhook-id", id);
    request.headers.add("webhook-timestamp", std::to_string(now));
    request.headers.add("webhook-signature", webhook_signature(config_.key, id, now, body));
    request.body = std::move(body);
    CAY_CO_TRY(const auto answer,
               co_await client_->send(std::move(request)));  // its body is of no interest
    if (answer.status >= kFirstSuccess && answer.status < kFirstRedirect) co_return Result<void>();
    const bool redirect = answer.status >= kFirstRedirect && answer.status < kFirstRefusal;
    co_return Error{
        Code::kUnavailable, "webhook_refused",
        redirect ? "it redirects elsewhere, which is not followed: give the final address as url"
                 : "it answered " + std::to_string(answer.status),
        0};
  }

  asio::any_io_executor loop_;
  core::Cay& cay_;
  core::Store& store_;
  WebhookConfig config_;
  WebhookTiming timing_;
  std::unique_ptr<http::Client> client_;
  std::string target_;
};

}  // namespace

Result<std::unique_ptr<Webhook>> Webhook::create(asio::any_io_executor loop, core::Cay& cay,
                                                 core::Store& store, WebhookConfig config,
                                                 WebhookTiming timing) {
  if (!is_valid_name(config.name))
    return bad(config.name, "a name is 1 to 63 letters, digits, '.', '_' or '-'");
  const auto scheme = config.url.find("://");
  if (!config.url.starts_with("http://") && !config.url.starts_with("https://")) {
    return bad(config.name, "its url must begin with https:// or http://");
  }
  const auto slash = config.url.find('/', scheme + 3);
  http::ClientOptions options;
  options.url = config.url.substr(0, slash);
  options.ca_file = config.ca_file;
  options.connect_timeout = timing.answer_limit;
  std::string target = slash == std::string::npos ? "/" : config.url.substr(slash);
  if (target.find_first_of(" #\r\n") != std::string::npos)
    return bad(config.name, "its url has a blank or a '#'");
  auto client = http::Client::create(loop, std::move(options));
  if (!client) return bad(config.name, client.error().message);
  return std::unique_ptr<Webhook>(std::make_unique<Sender>(std::move(loop), cay, store,
                                                           std::move(config), timing,
                                                           *std::move(client), std::move(target)));
}

}  // namespace cay::api
