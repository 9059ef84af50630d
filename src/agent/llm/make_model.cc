#include <utility>

#include "agent/llm/calls_by_schema.h"
#include "agent/llm/endpoint.h"
#include "agent/llm/http_model.h"
#include "agent/llm/model.h"

namespace cay::agent {
namespace {

constexpr std::uint64_t kSmallAnswer = 512;  // tokens

}  // namespace

Result<std::unique_ptr<Model>> make_model(asio::any_io_executor executor, ModelSettings settings) {
  CAY_TRY(Endpoint endpoint, endpoint_of(settings, process_environment()));
  const bool by_schema = settings.profile.calls_by_schema;
  // A small model may repeat itself up to the end of its window.
  if (by_schema && is_small(settings.profile) && !settings.max_tokens)
    settings.max_tokens = kSmallAnswer;
  CAY_TRY(auto model,
          HttpModel::create(std::move(executor), std::move(endpoint), std::move(settings)));
  if (by_schema) return with_calls_by_schema(std::move(model));
  return model;
}

}  // namespace cay::agent
