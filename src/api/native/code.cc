// Routes that run a program given as text.
#include "api/common/answer_size.h"
#include "api/common/audit_subjects.h"
#include "api/common/collect.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "code/code_json.h"
#include "codec/model_read.h"
#include "core/verbs/code.h"

namespace cay::api::native {

using codec::json::object;

namespace {

constexpr std::uint64_t kMostArtifactsAsJson = code::kMostArtifactsBytes / 3 * 4 + (1 << 20);

std::uint64_t most_of(const code::RunRequest& request) {
  return std::min(4 * request.max_output_bytes + kMostArtifactsAsJson, kMostAnswer);
}

std::uint64_t size_of(const code::RunResult& result) {
  std::uint64_t out = bytes_size(result.output.out) + bytes_size(result.output.err);
  for (const code::Artifact& artifact : result.artifacts)
    out += artifact.bytes.size() / 3 * 4 + text_size(artifact.name);
  return out;
}

std::string asked_of(const code::RunRequest& request) {
  return "code: " + request.language + ", " + std::to_string(request.code.size()) + " bytes";
}

Task<http::Response> answered(AnswerPart part, code::RunResult result) {
  if (!part->need(size_of(result)))
    co_return output_not_held(
        "the program ran to its end",
        "read its output from .../commands/" + result.command.id.get() + "/output");
  auto response = json_answer(200, code::to_json(result));
  response.holds = std::move(part);
  co_return response;
}

}  // namespace

Task<http::Response> run_code(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBatchBodyLimit);
  if (!body) co_return std::move(body).error();
  code::RunRequest request;
  codec::Fields fields(*body);
  code::read_request(fields, request);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  const Principal who = exchange->principal();
  const auto part = cay.answers().begin(who.tenant);
  CAY_CO_CHECK(part->check(most_of(request)));
  exchange->note_subject(asked_of(request));
  auto result = co_await cay.code().run(who, param(*exchange, "ref"), std::move(request));
  if (!result) co_return std::move(result).error();
  auto answer = co_await answered(part, *std::move(result));
  co_return answer;
}

Task<http::Response> run_code_once(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBatchBodyLimit);
  if (!body) co_return std::move(body).error();
  code::RunRequest request;
  codec::CreateRequest create;
  codec::Fields fields(*body);
  code::read_request(fields, request);
  if (const object* sandbox = fields.object("sandbox")) {
    CAY_CO_TRY(create, codec::read_create(*sandbox));
    if (!create.wait) fields.complain("sandbox", "cannot have wait: false");
  }
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  const Principal who = exchange->principal();
  const auto part = cay.answers().begin(who.tenant);
  CAY_CO_CHECK(part->check(most_of(request)));
  exchange->note_subject(asked_of(request) + ", " +
                         creation_subject(create.spec.name, settings_subject(create.spec)));
  core::CreateOptions options;
  options.timeout = std::chrono::milliseconds(create.timeout_ms);
  auto result =
      co_await cay.code().run_once(who, std::move(create.spec), options, std::move(request));
  if (!result) co_return std::move(result).error();
  auto answer = co_await answered(part, *std::move(result));
  co_return answer;
}

}  // namespace cay::api::native
