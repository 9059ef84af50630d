// Routes about contexts: interpreters that keep their variables.
#include <algorithm>
#include <charconv>

#include "api/common/collect.h"
#include "api/native/context_handlers.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "core/verbs/contexts.h"
#include "model/command_limits.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

constexpr std::size_t kRunBody = kJsonGrowth * kMostCode + kBodyLimit;
constexpr std::size_t kMostVariables = 1024;
constexpr std::int64_t kMostRunWait = 86'400;
constexpr std::int64_t kUsualRunWait = 3'600;
constexpr std::int64_t kMillisInSecond = 1000;

object to_json(const Context& context) {
  const bool runs = context.command.end.state == CommandState::kRunning;
  return {{"id", context.id},
          {"language", context.language},
          {"state", runs ? "ready" : "gone"},
          {"generation", context.generation},
          {"command", codec::to_json(context.command)}};
}

object to_json(const ContextEvent& event) {
  using Kind = ContextEvent::Kind;
  object out{{"type", to_string(event.kind)}};
  switch (event.kind) {
    case Kind::kStdout:
    case Kind::kStderr: out["text"] = event.text; break;
    case Kind::kDisplay:
    case Kind::kResult: {
      object data, omitted;
      for (const auto& [mime, part] : event.data) data[mime] = part;
      for (const auto& [mime, size] : event.omitted) omitted[mime] = size;
      out["data"] = std::move(data);
      out["omitted"] = std::move(omitted);
      break;
    }
    case Kind::kError:
      out["name"] = event.name;
      out["value"] = event.text;
      out["traceback"] = event.traceback;
      break;
    case Kind::kGap:
    case Kind::kUnreadable: out["bytes"] = event.bytes; break;
  }
  return out;
}

object to_json(const Evaluation& got) {
  array events;
  for (const ContextEvent& event : got.events) events.emplace_back(to_json(event));
  object out{{"id", got.id},
             {"context", got.context},
             {"state", to_string(got.state)},
             {"events", std::move(events)}};
  out["next"] = std::to_string(got.next.generation) + "-" + std::to_string(got.next.offset);
  out["more"] = got.more;
  out["interpreter"] = got.driver ? codec::json::value(codec::to_json(*got.driver)) : nullptr;
  return out;
}

// "GENERATION-OFFSET", as to_json() writes it.
Result<ContextPlace> place_from(std::string_view text) {
  ContextPlace out;
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto reads = [](std::string_view digits, auto& number) {
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, number);
    return read.ec == std::errc() && read.ptr == end;
  };
  if (dash < text.size() && reads(text.substr(0, dash), out.generation) &&
      reads(text.substr(dash + 1), out.offset)) {
    return out;
  }
  return invalid("invalid_query", "from= must be the `next` of an earlier answer");
}

Result<ContextSpec> context_spec_of(const object& body) {
  codec::Fields fields(body);
  ContextSpec spec;
  fields.read("id", spec.id);
  fields.read("language", spec.language);
  std::string value;
  if (fields.read("user", value)) spec.run.user = value;
  if (fields.read("cwd", value)) spec.run.workdir = value;
  fields.read("env", spec.run.env, kMostVariables);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return spec;
}

struct RunRequest {
  EvaluationSpec spec;
  core::Contexts::Wait wait{kUsualRunWait * kMillisInSecond};
};

Result<RunRequest> run_request_of(const object& body) {
  codec::Fields fields(body);
  RunRequest out;
  fields.read("id", out.spec.id);
  if (!fields.read("code", out.spec.code, kRunBody)) fields.complain("code", "is needed");
  double wait = 0;
  if (fields.read("wait_s", wait, 0, kMostRunWait))
    out.wait = core::Contexts::Wait(static_cast<std::int64_t>(wait * kMillisInSecond));
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

// The bytes of the strings in an answer, as a bound of what it takes.
std::uint64_t evaluation_size(const Evaluation& got) {
  std::uint64_t sum = 0;
  for (const ContextEvent& event : got.events) {
    sum += event.text.size() + event.name.size() + event.traceback.size();
    for (const auto& [mime, part] : event.data) sum += mime.size() + part.size();
  }
  return sum;
}

http::Response answer_with(AnswerPart part, const Evaluation& got) {
  part->hold(evaluation_size(got));
  auto response = json_answer(200, to_json(got));
  response.holds = std::move(part);
  return response;
}

// Before an evaluation begins: a client that repeats one which ran would run it again.
Result<void> check_evaluation_room(const core::AnswerRoom::Part& part) {
  constexpr std::uint64_t kMost = 16u << 20;
  return part.check(kMost);
}

}  // namespace

Task<http::Response> create_context(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  auto spec = context_spec_of(*body);
  if (!spec) co_return std::move(spec).error();
  auto made = co_await cay.contexts().create(exchange->principal(), param(*exchange, "ref"),
                                             *std::move(spec));
  if (!made) co_return std::move(made).error();
  exchange->note_subject("context " + made->id);
  co_return json_answer(201, to_json(*made));
}

Task<http::Response> list_contexts(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.contexts().list(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  array items;
  for (const Context& one : *got) items.emplace_back(to_json(one));
  co_return json_answer(200, object{{"items", std::move(items)}});
}

Task<http::Response> get_context(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.contexts().get(exchange->principal(), param(*exchange, "ref"),
                                         param(*exchange, "id"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, to_json(*got));
}

Task<http::Response> delete_context(core::Cay& cay, ExchangePtr exchange) {
  auto gone = co_await cay.contexts().remove(exchange->principal(), param(*exchange, "ref"),
                                             param(*exchange, "id"));
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

Task<http::Response> run_in_context(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kRunBody);
  if (!body) co_return std::move(body).error();
  auto request = run_request_of(*body);
  if (!request) co_return std::move(request).error();
  auto part = cay.answers().begin(exchange->principal().tenant);
  auto there_is = check_evaluation_room(*part);
  if (!there_is) co_return std::move(there_is).error();
  const std::string id = param(*exchange, "id");
  exchange->note_subject("context " + id);
  auto got = co_await cay.contexts().evaluate(exchange->principal(), param(*exchange, "ref"), id,
                                              std::move(request->spec), request->wait);
  if (!got) co_return std::move(got).error();
  co_return answer_with(std::move(part), *got);
}

Task<http::Response> get_evaluation(core::Cay& cay, ExchangePtr exchange) {
  std::optional<ContextPlace> from;
  if (const auto text = exchange->head().query.get("from")) {
    auto place = place_from(*text);
    if (!place) co_return std::move(place).error();
    from = *place;
  }
  auto wait = query_number(*exchange, "wait_s", 0, 0, kMostRunWait);
  if (!wait) co_return std::move(wait).error();
  auto part = cay.answers().begin(exchange->principal().tenant);
  auto there_is = check_evaluation_room(*part);
  if (!there_is) co_return std::move(there_is).error();
  const core::Contexts::Wait time(static_cast<std::int64_t>(*wait) * kMillisInSecond);
  auto got = co_await cay.contexts().evaluation(exchange->principal(), param(*exchange, "ref"),
                                                param(*exchange, "id"), param(*exchange, "run"),
                                                from, time);
  if (!got) co_return std::move(got).error();
  co_return answer_with(std::move(part), *got);
}

Task<http::Response> interrupt_context(core::Cay& cay, ExchangePtr exchange) {
  auto sent = co_await cay.contexts().interrupt(exchange->principal(), param(*exchange, "ref"),
                                                param(*exchange, "id"));
  if (!sent) co_return std::move(sent).error();
  co_return empty_answer(204);
}

Task<http::Response> restart_context(core::Cay& cay, ExchangePtr exchange) {
  auto made = co_await cay.contexts().restart(exchange->principal(), param(*exchange, "ref"),
                                              param(*exchange, "id"));
  if (!made) co_return std::move(made).error();
  co_return json_answer(200, to_json(*made));
}

}  // namespace cay::api::native
