// The connections that a sandbox tried, the named policies, and a dry run of one.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/fields.h"
#include "codec/network_json.h"
#include "core/verbs/inspection.h"
#include "core/verbs/policies.h"

namespace cay::api::native {
namespace {

// As of events (events.cc).
constexpr std::uint64_t kUsualItems = 100, kMostItems = 1000;
constexpr std::uint64_t kLongestWait = 60;  // seconds
constexpr std::size_t kMostPath = 4096;

Result<DecidedQuery> query_of(http::Exchange& exchange) {
  DecidedQuery out;
  if (const auto after = exchange.head().query.get("after")) {
    CAY_TRY(const Position position, position_of(*after, "after="));
    out.after = position.after;
    out.from_now = position.from_now;
  } else {
    out.from_oldest = true;
  }
  CAY_TRY(const std::uint64_t limit, query_number(exchange, "limit", kUsualItems, 1, kMostItems));
  out.limit = static_cast<std::uint32_t>(limit);
  return out;
}

}  // namespace

Task<http::Response> sandbox_network(core::Cay& cay, ExchangePtr exchange) {
  auto report = co_await cay.inspection().network(exchange->principal(), param(*exchange, "ref"));
  if (!report) co_return std::move(report).error();
  auto response = json_answer(200, codec::to_json(*report));
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

Task<http::Response> network_decisions(core::Cay& cay, ExchangePtr exchange) {
  auto query = query_of(*exchange);
  if (!query) co_return std::move(query).error();
  auto wait = query_number(*exchange, "wait_s", 0, 0, kLongestWait);
  if (!wait) co_return std::move(wait).error();
  auto page = co_await cay.inspection().decisions(exchange->principal(), param(*exchange, "ref"),
                                                  *query, std::chrono::seconds(*wait));
  if (!page) co_return std::move(page).error();
  auto response = json_answer(200, codec::to_json(*page));
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

Task<http::Response> network_questions(core::Cay& cay, ExchangePtr exchange) {
  auto wait = query_number(*exchange, "wait_s", 0, 0, kLongestWait);
  if (!wait) co_return std::move(wait).error();
  auto questions = co_await cay.policies().questions(exchange->principal(), param(*exchange, "ref"),
                                                     std::chrono::seconds(*wait));
  if (!questions) co_return std::move(questions).error();
  codec::json::array items;
  for (const NetworkQuestion& one : *questions) items.emplace_back(codec::to_json(one));
  auto response = json_answer(200, codec::json::object{{"items", std::move(items)}});
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

Task<http::Response> answer_network_question(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  NetworkAnswer answer{.question = param(*exchange, "id"), .allowed = false, .always = false};
  std::string verdict, how_long = "once";
  fields.read("verdict", verdict);
  fields.read("for", how_long);
  if (verdict != "allow" && verdict != "deny") fields.complain("verdict", "is allow or deny");
  if (how_long != "once" && how_long != "always") fields.complain("for", "is once or always");
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  answer.allowed = verdict == "allow";
  answer.always = how_long == "always";
  auto question = co_await cay.policies().answer(exchange->principal(), param(*exchange, "ref"),
                                                 std::move(answer));
  if (!question) co_return std::move(question).error();
  auto out = codec::to_json(*question);
  out["verdict"] = verdict;
  out["for"] = how_long;
  co_return json_answer(200, std::move(out));
}

Task<http::Response> policies(core::Cay& cay, ExchangePtr exchange) {
  auto list = co_await cay.policies().list(exchange->principal());
  if (!list) co_return std::move(list).error();
  co_return json_answer(200, codec::to_json(*list));
}

Task<http::Response> try_policy(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  PolicyQuestion question;
  std::int64_t port = question.port;
  const bool of_sandbox = fields.read("sandbox", question.sandbox);
  const bool of_words = fields.read("policy", question.policy);
  fields.read("host", question.host);
  fields.read("port", port, 0, 65'535);
  fields.read("path", question.path);
  if (!question.path.empty() &&
      (question.path.size() > kMostPath || !question.path.starts_with('/')))
    fields.complain("path", "begins with '/', and has no more than 4096 bytes");
  if (of_sandbox == of_words) fields.complain("policy", "give either policy or sandbox");
  if (of_sandbox && question.sandbox.empty()) fields.complain("sandbox", "must not be empty");
  if (question.host.empty()) fields.complain("host", "is needed");
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  question.port = static_cast<std::uint16_t>(port);
  auto trial = co_await cay.policies().try_policy(exchange->principal(), std::move(question));
  if (!trial) co_return std::move(trial).error();
  co_return json_answer(200, codec::to_json(*trial));
}

}  // namespace cay::api::native
