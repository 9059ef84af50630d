// Model: one language model behind some vendor's API. complete() sends a conversation and returns
// the next message, streamed by pieces meanwhile.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/llm/message.h"
#include "async/task.h"
#include "base/clock.h"

namespace cay::agent {

// Prices: US dollars for a million tokens. The user gives them: Cay ships none.
struct Prices {
  double input = 0, output = 0;
  // For input that the vendor's cache had, and for input that it took. Absent: as `input`.
  std::optional<double> cache_read{}, cache_write{};
};

// ModelProfile: facts about a model that its API does not return. Settings replace any of it.
struct ModelProfile {
  std::uint64_t context_tokens = 0;  // input and output together; 0: unknown
  bool sees_images = true;
  // The model has no tool calls of its own. The harness requests JSON of a schema instead, and
  // reads a call from it.
  bool calls_by_schema = false;
  std::optional<Prices> prices{};  // absent: unknown, and no cost is reported
};

struct ModelSettings {
  // "openai:NAME" (Chat Completions), "openai-responses:NAME", "anthropic:NAME". A NAME alone takes
  // the vendor whose key the environment has.
  std::string model{};
  std::string base_url{};  // empty: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, else the vendor's own
  std::string api_key{};   // empty: OPENAI_API_KEY, ANTHROPIC_API_KEY
  std::optional<double> temperature{};
  std::optional<std::uint64_t> max_tokens{};  // of an answer
  std::uint32_t max_retries = 2;              // of requests that failed for a passing reason
  Millis first_byte_timeout{120'000};         // until the answer begins
  Millis silence_timeout{120'000};            // between two pieces of it
  Millis timeout{600'000};                    // of one answer in all
  std::string ca_file{};                      // PEM; empty: the system's authorities
  ModelProfile profile{};
};

struct ModelRequest {
  std::vector<Message> messages;
  std::vector<ToolSpec> tools{};
  // The answer shall be JSON of this schema. Empty: free text.
  codec::json::object response_schema{};
};

enum class StopReason : std::uint8_t {
  kEnd,        // the model is done
  kToolCalls,  // it waits for the results of its calls
  kLength,     // it met max_tokens or the end of its context: the last call may be cut
  kRefused,    // the vendor's filter stopped it
};

struct ModelReply {
  Message message;  // kAssistant
  StopReason stop = StopReason::kEnd;
  Usage usage;
  std::string model;        // as the server names it
  std::uint32_t tries = 1;  // requests that it took
};

// A piece of an answer as it comes. kRestarted: the connection broke, and the request was sent once
// more. The pieces before it are void.
struct Delta {
  enum class Kind : std::uint8_t { kText, kThinking, kCallBegin, kCallArguments, kRestarted };
  Kind kind = Kind::kText;
  std::string text;  // kCallBegin: the tool's name
};
using OnDelta = std::function<void(const Delta&)>;

// Fails kUnauthenticated (model_key_missing, model_key_refused). Fails kInvalidArgument
// (model_request_refused, model_unknown, or context_overflow for too long a conversation). Fails
// kExhausted (model_rate_limited, model_quota) and kDeadlineExceeded (model_timeout). Fails
// kUnavailable (model_unreachable, model_overloaded, model_bad_answer, or model_cut where the
// answer broke off).
class Model {
 public:
  virtual ~Model() = default;
  // Honours cancellation, in mid-stream too. A passing failure is tried again up to max_retries,
  // no sooner than Retry-After allows.
  virtual Task<ModelReply> complete(ModelRequest request, OnDelta on_delta) = 0;
  virtual const ModelProfile& profile() const = 0;
  virtual const std::string& name() const = 0;  // "openai:gpt-4.1"
};

// Returns the model that `settings` and the environment name. Fails kInvalidArgument
// (model_unknown, bad_url) and kUnauthenticated (model_key_missing). The message names the
// setting that is missing.
Result<std::unique_ptr<Model>> make_model(asio::any_io_executor executor, ModelSettings settings);

// Tries `first`, and the next one for requests that `first` fails for a reason that is not the
// request's own.
std::unique_ptr<Model> with_fallback(std::unique_ptr<Model> first, std::unique_ptr<Model> next);

}  // namespace cay::agent
