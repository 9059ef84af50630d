// WireFormat: one vendor's API as pure functions. It writes requests and reads answers. HttpModel
// carries both.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/llm/model.h"
#include "agent/llm/vendor_error.h"
#include "http/message.h"

namespace cay::agent {

// RequestOptions: the members of a request beside the conversation. Servers that speak a vendor's
// API differ in those that they accept: see WireFormat::adapt.
struct RequestOptions {
  std::string model;
  std::optional<double> temperature{};
  std::optional<std::uint64_t> max_tokens{};
  bool sees_images = true;
  bool stream_usage = true;         // Chat Completions: "stream_options"
  bool completion_tokens = false;   // Chat Completions: "max_completion_tokens"
  bool encrypted_thinking = true;   // Responses: "include"
  bool cache_marks = true;          // Anthropic: "cache_control"
  std::uint64_t answer_tokens = 0;  // Anthropic needs a limit; 0: the largest usual one
};

// AnswerReader: assembles one answer, and reports its pieces as they come.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  // One event of a streamed answer. Fails kUnavailable (model_bad_answer) for one of another form,
  // and as vendor_error.h has it for an error of the vendor's.
  virtual Result<void> on_event(const codec::json::object& event) = 0;
  // An answer that was not streamed.
  virtual Result<void> on_whole(const codec::json::object& answer) = 0;
  // Whether the model's message is whole. Its usage may still come.
  virtual bool is_whole() const = 0;
  // Whether nothing of the answer is still to come.
  virtual bool is_over() const = 0;
  // Called once, when is_whole().
  virtual Result<ModelReply> take() = 0;
};

class WireFormat {
 public:
  virtual ~WireFormat() = default;
  virtual std::string target(const std::string& base_url) const = 0;  // below base_url
  virtual std::string models_target(const std::string& base_url) const = 0;
  virtual void add_headers(http::Headers& headers, const std::string& key) const = 0;
  virtual codec::json::object request(const ModelRequest& request,
                                      const RequestOptions& options) const = 0;
  virtual std::unique_ptr<AnswerReader> reader(OnDelta on_delta) const = 0;
  // Changes `options` if `refusal` names a member of the request that the user did not set. Returns
  // whether a second request is worth sending.
  virtual bool adapt(RequestOptions& options, const VendorError& refusal) const = 0;
};

std::unique_ptr<WireFormat> chat_completions_format();
std::unique_ptr<WireFormat> responses_format();
std::unique_ptr<WireFormat> anthropic_format();

}  // namespace cay::agent
