#include "server/dispatch.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "async/event.h"
#include "async/until_set.h"
#include "base/ascii.h"
#include "model/ids.h"
#include "server/key_rule.h"
#include "server/routed_exchange.h"

namespace cay::server {
namespace {

constexpr std::size_t kMaxRequestId = 64;
constexpr const char* kKeyRemoved = "the API key was removed, or its time is over";
constexpr std::uint32_t kSecondsAtOnce = 2;
constexpr std::size_t kMostToldApart = 4096;
constexpr int kTooManyRequests = 429;
constexpr const char* kTooOften = "too_many_requests";
constexpr const char* kServiceHost = "(service host)";  // instead of a pattern

// Whether more than looking is done by it.
bool is_for_acting(Right right) {
  switch (right) {
    case Right::kAny:
    case Right::kRead:
    case Right::kReadOne:
    case Right::kWatchHost: return false;
    case Right::kUseOne:
    case Right::kManage:
    case Right::kHost: return true;
  }
  return true;
}

// The caller's own id, if it is harmless in a header and in a log; else a new one.
std::string request_id_of(const http::RequestHead& head) {
  const auto given = head.headers.get("X-Request-Id");
  const auto harmless = [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
  };
  const bool fits = given && !given->empty() && given->size() <= kMaxRequestId;
  if (fits && std::all_of(given->begin(), given->end(), harmless)) return std::string(*given);
  return new_uuid();
}

// The paths of links are their tokens, also those that no route has.
std::string without_tokens(std::string target) {
  for (const std::string_view kind : {"/dl/", "/svc/"}) {
    if (target.starts_with(kind)) return std::string(kind) + "-";
  }
  return target;
}

// The error names the smallest scope that is enough without further settings. A key of one sandbox
// is made only for somebody who has that sandbox's id.
Error too_little(const Principal& who, Right right) {
  const std::string enough = right == Right::kHost                               ? "admin"
                             : right == Right::kWatchHost                        ? "monitor"
                             : right == Right::kRead || right == Right::kReadOne ? "read"
                                                                                 : "create";
  const std::string_view or_use =
      right == Right::kReadOne || right == Right::kUseOne ? " (or use, of that sandbox)" : "";
  const std::string& tenant = who.tenant.get();
  const std::string of_tenant =
      right != Right::kHost && right != Right::kWatchHost && tenant != "default"
          ? " --tenant " + tenant
          : "";
  return Error{Code::kPermissionDenied, "scope_too_small",
               "the key '" + who.key_name + "' has the scope " + std::string(text_of(who.scope)) +
                   ", and this request needs " + enough + std::string(or_use) +
                   ": whoever runs the daemon makes such a key with `cay key create NAME --scope " +
                   enough + of_tenant + "`",
               0};
}

std::string end_of(RoutedExchange& exchange, bool cancelled) {
  if (std::string how = exchange.how_it_ended(); !how.empty()) return how;
  if (cancelled) return "the client left, or the daemon ended";
  return exchange.course().status() == 0 ? "no answer was sent" : "it came to its end";
}

class Dispatcher {
 public:
  Dispatcher(const http::Router& router, const KeyRing& keys, DispatchConfig config)
      : router_(router),
        keys_(keys),
        config_(std::move(config)),
        rate_(config_.per_second, kSecondsAtOnce, system_clock(),
              std::numeric_limits<std::size_t>::max()),  // as many as there are keys
        strangers_(config_.strangers_per_second, kSecondsAtOnce, system_clock(), kMostToldApart),
        links_(config_.per_second_of_link, kSecondsAtOnce, system_clock(), kMostToldApart) {}

  asio::awaitable<void> handle(std::shared_ptr<http::Exchange> exchange) {
    const auto begin = std::chrono::steady_clock::now();
    AccessRecord record;
    record.begin = system_clock().wall();
    record.request_id = request_id_of(exchange->head());
    record.method = exchange->head().method;
    record.target =
        without_tokens(exchange->head().target.substr(0, exchange->head().target.find('?')));
    auto seen = config_.public_url.seen(exchange->head());
    record.peer = seen ? seen->peer : exchange->head().peer;
    auto routed = std::make_shared<RoutedExchange>(
        std::move(exchange), record.request_id, std::move(seen),
        [this](const http::Caller& caller) { return check_rate(caller); });
    RequestCourse& course = routed->course();
    routed->on_refusal([this, &record, exchange = routed.get()](const http::Response& refusal) {
      auto instead = instead_of(refusal, record.peer, exchange->head());
      if (instead) exchange->course().note_reason(kTooOften);
      return instead;
    });
    course.on_begin(
        [this, &record, &course] { record.begin_is_written = tell_begin(record, course); });
    std::exception_ptr failure;
    try {
      co_await route(routed, record);
    } catch (...) {
      failure = std::current_exception();
    }
    course.on_begin(nullptr);  // it may outlive the record
    routed->on_refusal(nullptr);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    record.milliseconds = took.count();
    record.status = course.status();
    record.link = course.link();
    record.subject = course.subject();
    record.reason = course.reason();
    record.failed = failure != nullptr && !is_cancellation(failure);
    if (course.begun()) record.part = AccessRecord::Part::kEnd;
    if (course.lasts() || record.status == 0)
      record.ended = end_of(*routed, failure != nullptr && !record.failed);
    if (config_.log) config_.log(record);
    if (failure) std::rethrow_exception(failure);
  }

 private:
  bool tell_begin(const AccessRecord& record, const RequestCourse& course) const {
    if (!config_.begun) return false;
    AccessRecord now = record;
    now.part = AccessRecord::Part::kBegin;
    now.status = course.status();
    now.link = course.link();
    return config_.begun(now);
  }

  // A key's is taken where it is found; a link's where its handler finds it good.
  Result<void> check_rate(const http::Caller& caller) {
    if (caller.kind != http::Caller::Kind::kLink || links_.take(caller.id)) return {};
    return too_many("this link was used", config_.per_second_of_link);
  }

  // Called after all keys and tokens were checked. So a caller with a good one is not held up by
  // others at its address.
  std::optional<http::Response> instead_of(const http::Response& refusal, const std::string& peer,
                                           const http::RequestHead& head) {
    if (refusal.status == kTooManyRequests) return std::nullopt;
    if (strangers_.take(network_of_peer(peer))) return std::nullopt;
    const Error error = too_many("without a key or a link that is good, your address was used",
                                 config_.strangers_per_second);
    http::Response out = router_.shape(head, kTooManyRequests, error);
    if (refusal.headers.get("X-Cay-Error")) {  // of a link: read by people and by programs alike
      out.headers = {};
      out.headers.add("Content-Type", "text/plain; charset=utf-8");
      out.headers.add("Cache-Control", "no-store");
      out.headers.add("X-Cay-Error", kTooOften);
      out.body = error.message + "\n";
    }
    out.headers.set("Retry-After", "1");
    return out;
  }

  static Error too_many(const std::string& whose, std::uint32_t per_second) {
    return {Code::kExhausted, kTooOften,
            whose + " for more than " + std::to_string(per_second) +
                " requests a second: wait a second",
            0};
  }

  asio::awaitable<void> refuse(std::shared_ptr<RoutedExchange> exchange, int status, Error error) {
    exchange->course().note_reason(error.reason);
    auto response = router_.shape(exchange->head(), status, error);
    if (status == 401) {
      response.headers.set("WWW-Authenticate",
                           key_rule_of(router_.facade_of(exchange->head())).challenge);
    }
    if (status == kTooManyRequests) response.headers.set("Retry-After", "1");
    co_await exchange->respond(std::move(response));
  }

  // The key that let the request in is gone. A request without an answer is answered by its own
  // coroutine, because two must not write on one connection.
  static asio::awaitable<void> end(std::shared_ptr<RoutedExchange> exchange,
                                   std::shared_ptr<Event> lapsed) {
    const auto broken = co_await exchange->break_off(kKeyRemoved);
    static_cast<void>(broken);
    lapsed->set();
  }

  asio::awaitable<void> route(std::shared_ptr<RoutedExchange> exchange, AccessRecord& record) {
    const auto& head = exchange->head();
    auto match = router_.match(head);
    if (match.route != nullptr && match.route->auth == http::Auth::kOwn)
      record.target = match.route->pattern;
    if (auto wrong = check_host(head, config_.hosts)) {
      record.target = "-";  // whatever this host has there, a token it may be
      co_await refuse(exchange, 421, std::move(*wrong));
      co_return;
    }
    if (config_.by_host) {
      if (const http::Handler* other = config_.by_host(head)) {
        record.route = kServiceHost;
        record.target = "-";
        co_await run_handler(*other, exchange);
        co_return;
      }
    }
    // The facade of the request states how its clients show a key. No facade can do without one.
    const http::KeyRule& rule = key_rule_of(router_.facade_of(head));
    if (auto wrong = check_origin(head, rule)) {
      co_await refuse(exchange, 403, std::move(*wrong));
      co_return;
    }
    Principal principal;
    std::shared_ptr<Event> lapsed;  // set when the key that let it in ends
    OpenRequests::Place ends;
    // Without a key nobody learns which routes exist.
    if (match.route == nullptr || match.route->auth == http::Auth::kKey) {
      const auto key = key_of(head, rule);
      if (config_.before_key) config_.before_key();
      const KeyHash hash = key ? hash_key(*key) : KeyHash{};
      Result<Principal> found =
          key ? keys_.find(hash)
              : Result<Principal>(Error{Code::kUnauthenticated, "no_key",
                                        "an API key is needed: " + how_to_send(rule), 0});
      if (!found) {
        co_await refuse(exchange, 401, std::move(found).error());
        co_return;
      }
      principal = std::move(*found);
      exchange->know();
      record.principal = principal.key_name;
      record.scope = principal.scope;
      record.tenant = principal.tenant.get();
      auto in = exchange->let_in(
          {http::Caller::Kind::kKey, principal.tenant.get() + "/" + principal.key_name});
      if (!in) {
        co_await refuse(exchange, 429, std::move(in).error());
        co_return;
      }
      if (config_.open != nullptr) {
        const auto executor = co_await asio::this_coro::executor;
        lapsed = std::make_shared<Event>(executor);
        ends = config_.open->add(hash, [exchange, lapsed] { return end(exchange, lapsed); });
      }
      if (!rate_.take(record.principal)) {
        co_await refuse(exchange, 429,
                        Error{Code::kExhausted, "too_many_requests",
                              "this key has sent more than " + std::to_string(config_.per_second) +
                                  " requests a second: wait a second",
                              0});
        co_return;
      }
    }
    if (match.route != nullptr) record.route = match.route->pattern;
    if (match.route == nullptr) {
      co_await refuse_unrouted(exchange, std::move(match.allowed));
      co_return;
    }
    if (match.route->auth == http::Auth::kKey && !allows(principal.scope, match.route->right)) {
      co_await refuse(exchange, 403, too_little(principal, match.route->right));
      co_return;
    }
    const Busy busy(busy_[record.principal]);
    if (!record.principal.empty() && busy.count() > config_.max_per_key) {
      co_await refuse(exchange, 429,
                      Error{Code::kExhausted, "too_many_requests",
                            "this key has " + std::to_string(config_.max_per_key) +
                                " requests at work: wait for some to end",
                            0});
      co_return;
    }
    if (const auto given = head.headers.get("traceparent")) {
      if (const auto trace = parse_traceparent(*given)) {
        principal.trace = *trace;
        if (config_.trace && trace->sampled) {
          principal.trace = child_of(*trace);
          record.trace = principal.trace;
          record.trace_parent = trace->span_id;
        }
      }
    }
    exchange->set_caller(std::move(principal), std::move(match.params));
    if (match.route->auth == http::Auth::kKey) {
      const bool here = match.route->pattern.starts_with(
          '/');  // what no route takes goes on to somebody else, and changes nothing here
      const bool acts = is_for_acting(match.route->right) ||
                        (match.route->acts_by_scope && allows(record.scope, Right::kUseOne));
      record.acts = here && acts && (may_change(head.method) || head.upgrades());
      exchange->let_act();
    }
    co_await run_handler(match.route->handler, exchange, lapsed);
    record.cut = lapsed && lapsed->is_set();
  }

  // `lapsed`, if there is one: a handler that has answered nothing by then is given up, as if its
  // client had left.
  asio::awaitable<void> run_handler(const http::Handler& handler,
                                    std::shared_ptr<RoutedExchange> exchange,
                                    std::shared_ptr<Event> lapsed = nullptr) {
    std::exception_ptr failure;
    try {
      auto handled = handler(exchange);
      if (lapsed) {
        co_await first_of(std::move(handled), *lapsed);
      } else {
        co_await std::move(handled);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    exchange->conclude();
    if (failure && !is_cancellation(failure) && exchange->course().status() == 0) {
      co_await refuse(exchange, 500,
                      Error{Code::kInternal, "internal",
                            "Cay failed at this request: see the daemon's log", 0});
    }
    if (lapsed && lapsed->is_set() && exchange->course().status() == 0) {
      co_await refuse(exchange, 401, Error{Code::kUnauthenticated, "unknown_key", kKeyRemoved, 0});
    }
    if (failure) std::rethrow_exception(failure);
  }

  asio::awaitable<void> refuse_unrouted(std::shared_ptr<RoutedExchange> exchange,
                                        std::vector<std::string> allowed) {
    const auto& head = exchange->head();
    const std::string path = head.target.substr(0, head.target.find('?'));
    if (allowed.empty()) {
      co_await refuse(exchange, 404,
                      Error{Code::kNotFound, "no_such_route", "there is nothing at " + path, 0});
      co_return;
    }
    std::string list;
    for (const auto& method : allowed) list += (list.empty() ? "" : ", ") + method;
    const Error error{Code::kInvalidArgument, "method_not_allowed",
                      path + " takes " + list + ", not " + head.method, 0};
    exchange->course().note_reason(error.reason);
    auto response = router_.shape(head, 405, error);
    response.headers.set("Allow", list);
    co_await exchange->respond(std::move(response));
  }

  // One request at work, counted for its key.
  class Busy {
   public:
    explicit Busy(std::uint32_t& counter) : counter_(counter) { ++counter_; }
    ~Busy() { --counter_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    std::uint32_t count() const { return counter_; }

   private:
    std::uint32_t& counter_;  // std::map: entries stay where they are, and keys are few
  };

  const http::Router& router_;
  const KeyRing& keys_;
  DispatchConfig config_;
  RateLimit rate_, strangers_, links_;
  std::map<std::string, std::uint32_t> busy_;
};

}  // namespace

bool may_change(std::string_view method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

http::Handler make_dispatcher(const http::Router& router, const KeyRing& keys,
                              DispatchConfig config) {
  auto dispatcher = std::make_shared<Dispatcher>(router, keys, std::move(config));
  return [dispatcher](std::shared_ptr<http::Exchange> exchange) {
    return dispatcher->handle(std::move(exchange));
  };
}

}  // namespace cay::server
