#include "cay/async_contexts.h"

#include "client/connection.h"
#include "client/context_values.h"
#include "client/errors.h"
#include "client/json_read.h"

namespace cay::sdk {
namespace {

namespace json = boost::json;

std::string all_contexts(const std::string& ref) {
  return client::sandbox_target(ref, "/contexts");
}

Awaitable<json::object> request(AsyncClient client, std::string method, std::string target,
                                json::object body = {}) {
  const std::string text = body.empty() ? std::string() : codec::write(body);
  const std::string answer = co_await client.request(method, target, text);
  co_return client::value_or_raise(codec::parse_object(answer, codec::Empty::kIsObject));
}

// Sends a request, and reads its answer with `from`.
template <class From>
auto read_with(From from, AsyncClient client, std::string method, std::string target,
               json::object body = {})
    -> Awaitable<std::invoke_result_t<From, const json::object&>> {
  const json::object answer =
      co_await request(std::move(client), std::move(method), std::move(target), std::move(body));
  co_return from(answer);
}

std::vector<ContextInfo> contexts_from(const json::object& from) {
  return client::list_from(from, "items", context_from);
}

Awaitable<void> send(AsyncClient client, std::string method, std::string target) {
  co_await request(std::move(client), std::move(method), std::move(target));
}

Awaitable<Evaluation> evaluate(AsyncClient client, std::string ref, std::string id,
                               std::string code, CallOptions options) {
  json::object body = call_body(code, kContextPause, options);
  json::object whole =
      co_await request(client, "POST", context_target(ref, id, "/run"), std::move(body));
  while (has_more(whole)) {
    json::object later = co_await request(client, "GET", next_target(ref, id, whole));
    append_events(whole, std::move(later));
  }
  co_return evaluation_from(whole);
}

Awaitable<Evaluation> follow_events(AsyncClient client, std::string ref, std::string id,
                                    std::string run, Contexts::OnEvent on_event, std::string from) {
  for (;;) {
    const json::object answer = co_await request(client, "GET", follow_target(ref, id, run, from));
    Evaluation piece = evaluation_from(answer);
    for (const ContextEvent& event : piece.events) on_event(event);
    piece.events.clear();
    if (piece.state != "running" && !piece.more) co_return piece;
    from = piece.next;
  }
}

Awaitable<Evaluation> evaluate_with(AsyncClient client, std::string ref, std::string id,
                                    std::string code, Contexts::OnEvent on_event,
                                    CallOptions options) {
  const AsyncContexts contexts(client, ref);
  Evaluation begun = co_await contexts.begin(id, code, {}, std::move(options));
  for (const ContextEvent& event : begun.events) on_event(event);
  begun.events.clear();
  if (begun.state != "running" && !begun.more) co_return begun;
  co_return co_await contexts.follow(id, begun.id, on_event, begun.next);
}

}  // namespace

Awaitable<ContextInfo> AsyncContexts::create(ContextOptions options) const {
  return read_with(context_from, client_, "POST", all_contexts(ref_), context_body(options));
}

Awaitable<std::vector<ContextInfo>> AsyncContexts::list() const {
  return read_with(contexts_from, client_, "GET", all_contexts(ref_));
}

Awaitable<ContextInfo> AsyncContexts::get(std::string id) const {
  return read_with(context_from, client_, "GET", context_target(ref_, id));
}

Awaitable<void> AsyncContexts::remove(std::string id) const {
  return send(client_, "DELETE", context_target(ref_, id));
}

Awaitable<Evaluation> AsyncContexts::run(std::string id, std::string code,
                                         CallOptions options) const {
  return evaluate(client_, ref_, std::move(id), std::move(code), std::move(options));
}

Awaitable<Evaluation> AsyncContexts::run(std::string id, std::string code, OnEvent on_event,
                                         CallOptions options) const {
  return evaluate_with(client_, ref_, std::move(id), std::move(code), std::move(on_event),
                       std::move(options));
}

Awaitable<Evaluation> AsyncContexts::follow(std::string id, std::string run, OnEvent on_event,
                                            std::string from) const {
  return follow_events(client_, ref_, std::move(id), std::move(run), std::move(on_event),
                       std::move(from));
}

Awaitable<Evaluation> AsyncContexts::begin(std::string id, std::string code, std::string run,
                                           CallOptions options) const {
  json::object body = call_body(code, 0, options);
  if (!run.empty()) body["id"] = run;
  return read_with(evaluation_from, client_, "POST", context_target(ref_, id, "/run"),
                   std::move(body));
}

Awaitable<Evaluation> AsyncContexts::read(std::string id, std::string run, std::uint32_t wait_s,
                                          std::string from) const {
  std::string rest = "/runs/" + http::encode_segment(run) + "?wait_s=" + std::to_string(wait_s);
  if (!from.empty()) rest += "&from=" + http::encode_segment(from);
  return read_with(evaluation_from, client_, "GET", context_target(ref_, id, rest));
}

Awaitable<void> AsyncContexts::interrupt(std::string id) const {
  return send(client_, "POST", context_target(ref_, id, "/interrupt"));
}

Awaitable<ContextInfo> AsyncContexts::restart(std::string id) const {
  return read_with(context_from, client_, "POST", context_target(ref_, id, "/restart"));
}

}  // namespace cay::sdk
