// Routes about evaluations: one answer, or lines of JSON as the events come.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/common/collect.h"
#include "api/native/context_handlers.h"
#include "api/native/request.h"
#include "codec/base64.h"
#include "codec/model_json.h"
#include "core/verbs/contexts.h"
#include "model/command_limits.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

constexpr std::size_t kRunBody = kJsonGrowth * (kMostCode + kMostInput) + kBodyLimit;
constexpr std::int64_t kMostRunWait = 86'400;
constexpr std::int64_t kUsualRunWait = 3'600;
constexpr std::int64_t kMillisInSecond = 1000;
constexpr std::chrono::seconds kQuietStream{15};  // then a line keeps proxies from ending it

using Patience = core::Contexts::Patience;

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
    case Kind::kBackground:
      out["of"] = event.of;
      out["stream"] = event.name;
      out["text"] = event.text;
      out["bytes"] = event.bytes;
      break;
    case Kind::kGap:
    case Kind::kUnreadable: out["bytes"] = event.bytes; break;
  }
  if (!event.raw.empty()) out["base64"] = codec::base64(event.raw);
  return out;
}

std::string to_text(const ContextPlace& place) {
  return std::to_string(place.generation) + "-" + std::to_string(place.offset);
}

object to_json(const Evaluation& got) {
  array events;
  for (const ContextEvent& event : got.events) events.emplace_back(to_json(event));
  object out{{"id", got.id},
             {"context", got.context},
             {"state", to_string(got.state)},
             {"events", std::move(events)}};
  out["next"] = to_text(got.next);
  out["more"] = got.more;
  out["exit_code"] = got.exit_code ? codec::json::value(*got.exit_code) : nullptr;
  out["cwd"] = got.cwd;
  out["ended"] = got.ended;
  out["interpreter"] = got.driver ? codec::json::value(codec::to_json(*got.driver)) : nullptr;
  return out;
}

// "GENERATION-OFFSET", as to_text() writes it.
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

struct RunRequest {
  EvaluationSpec spec;
  core::Contexts::Wait wait{kUsualRunWait * kMillisInSecond};
};

Result<RunRequest> run_request_of(const object& body) {
  codec::Fields fields(body);
  RunRequest out;
  fields.read("id", out.spec.id);
  if (!fields.read("code", out.spec.code, kRunBody)) fields.complain("code", "is needed");
  fields.read("fork", out.spec.fork);
  fields.read("stdin", out.spec.input, kRunBody);
  double limit = 0;
  if (fields.read("timeout_s", limit, 0, kMostRunWait))
    out.spec.timeout_ms = static_cast<std::uint64_t>(std::ceil(limit * kMillisInSecond));
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

// Names the evaluation that a request reads.
struct WhichRun {
  Principal who;
  std::string ref, context, run;
};

// An evaluation as lines: its events, each with the place behind it, and its end.
class EvaluationLines final : public ByteSource {
 public:
  EvaluationLines(core::Cay& cay, WhichRun which, Evaluation first, AnswerPart part)
      : cay_(cay), which_(std::move(which)), piece_(std::move(first)), part_(std::move(part)) {}

  Task<Bytes> next() override {
    if (ended_) co_return Bytes();
    if (!piece_) {
      const Patience patience{.wait = kQuietStream, .until = Patience::Until::kEvent};
      auto more = co_await cay_.contexts().evaluation(which_.who, which_.ref, which_.context,
                                                      which_.run, place_, patience);
      if (!more) {
        ended_ = true;
        const Error& error = more.error();
        co_return line({{"type", "end"},
                        {"state", to_string(EvaluationState::kRunning)},
                        {"error", codec::to_json(error, note_error(error))}},
                       place_);
      }
      piece_ = *std::move(more);
    }
    Bytes out = lines_of(*piece_);
    part_->hold(out.size());
    piece_.reset();
    co_return std::move(out);
  }

 private:
  static Bytes line(object content, std::optional<ContextPlace> place) {
    if (place) content["next"] = to_text(*place);
    return codec::write(content) + "\n";
  }

  Bytes lines_of(const Evaluation& piece) {
    Bytes out;
    if (!begun_) out += line({{"type", "begin"}, {"id", piece.id}, {"context", piece.context}}, {});
    begun_ = true;
    for (const ContextEvent& event : piece.events) {
      out += line(to_json(event),
                  ContextPlace{.generation = piece.next.generation, .offset = event.next});
    }
    place_ = piece.next;
    ended_ = piece.state != EvaluationState::kRunning;
    if (ended_) {
      object end = to_json(piece);
      for (const char* name : {"id", "context", "events", "more"}) end.erase(name);
      end["type"] = "end";
      out += line(std::move(end), place_);
    }
    if (out.empty()) out = line({{"type", "quiet"}}, place_);
    return out;
  }

  core::Cay& cay_;
  WhichRun which_;
  std::optional<Evaluation> piece_;
  AnswerPart part_;
  std::optional<ContextPlace> place_;
  bool begun_ = false;
  bool ended_ = false;
};

Task<void> respond_with(core::Cay& cay, ExchangePtr exchange, Evaluation got, AnswerPart part) {
  if (!wants_lines(exchange->head())) {
    co_await exchange->respond(answer_with(std::move(part), got));
    co_return Result<void>();
  }
  WhichRun which{exchange->principal(), param(*exchange, "ref"), param(*exchange, "id"), got.id};
  auto source =
      std::make_unique<EvaluationLines>(cay, std::move(which), std::move(got), std::move(part));
  http::Headers headers;
  headers.add("Cache-Control", "no-store");
  headers.add("Content-Type", "application/x-ndjson");
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(source));
  co_return Result<void>();
}

Result<Patience::Until> until_of(http::Exchange& exchange) {
  const std::string text = query_or(exchange, "until", "end");
  if (text == "end") return Patience::Until::kEnd;
  if (text == "event") return Patience::Until::kEvent;
  return invalid("invalid_query", "until= must be end or event");
}

}  // namespace

Task<void> run_in_context(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kRunBody);
  if (!body) co_return std::move(body).error();
  auto request = run_request_of(*body);
  if (!request) co_return std::move(request).error();
  auto part = cay.answers().begin(exchange->principal().tenant);
  auto there_is = check_evaluation_room(*part);
  if (!there_is) co_return std::move(there_is).error();
  const std::string id = param(*exchange, "id");
  exchange->note_subject("context " + id);
  if (wants_lines(exchange->head())) request->wait = core::Contexts::Wait(0);
  auto got = co_await cay.contexts().evaluate(exchange->principal(), param(*exchange, "ref"), id,
                                              std::move(request->spec), request->wait);
  if (!got) co_return std::move(got).error();
  auto done = co_await respond_with(cay, exchange, *std::move(got), std::move(part));
  co_return done;
}

Task<void> get_evaluation(core::Cay& cay, ExchangePtr exchange) {
  std::optional<ContextPlace> from;
  if (const auto text = exchange->head().query.get("from")) {
    auto place = place_from(*text);
    if (!place) co_return std::move(place).error();
    from = *place;
  }
  auto wait = query_number(*exchange, "wait_s", 0, 0, kMostRunWait);
  if (!wait) co_return std::move(wait).error();
  auto until = until_of(*exchange);
  if (!until) co_return std::move(until).error();
  auto part = cay.answers().begin(exchange->principal().tenant);
  auto there_is = check_evaluation_room(*part);
  if (!there_is) co_return std::move(there_is).error();
  const auto time = wants_lines(exchange->head()) ? 0 : static_cast<std::int64_t>(*wait);
  const Patience patience{.wait = core::Contexts::Wait(time * kMillisInSecond), .until = *until};
  auto got = co_await cay.contexts().evaluation(exchange->principal(), param(*exchange, "ref"),
                                                param(*exchange, "id"), param(*exchange, "run"),
                                                from, patience);
  if (!got) co_return std::move(got).error();
  auto done = co_await respond_with(cay, exchange, *std::move(got), std::move(part));
  co_return done;
}

}  // namespace cay::api::native
