// AnswerParser: the body of an answer, in pieces, becomes a reply. The body is a stream of events
// or one JSON object, whatever the request wanted and whatever its Content-Type is.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "agent/llm/sse.h"
#include "agent/llm/wire_format.h"

namespace cay::agent {

class AnswerParser {
 public:
  // An answer of more than `most` bytes is refused.
  explicit AnswerParser(std::unique_ptr<AnswerReader> reader, std::size_t most = 64u << 20)
      : reader_(std::move(reader)), most_(most) {}

  // Fails kUnavailable (model_bad_answer), and as vendor_error.h has it.
  Result<void> feed(std::string_view bytes);
  // Whether feed() failed for the answer's size. The next one may be as large.
  bool is_too_large() const { return seen_ > most_; }
  bool is_whole() const { return reader_->is_whole(); }
  // Whether the rest of the body has no meaning.
  bool is_over() const { return over_ || reader_->is_over(); }
  // The end of the body. Fails kUnavailable (model_cut) if the answer was not whole.
  Result<ModelReply> finish();

 private:
  Result<void> begin(std::string_view bytes);
  Result<void> take_events();

  enum class Form { kUnknown, kEvents, kWhole };
  std::unique_ptr<AnswerReader> reader_;
  const std::size_t most_;
  std::size_t seen_ = 0;
  Form form_ = Form::kUnknown;
  std::string body_;  // kUnknown: its blanks so far; kWhole: all of it
  SseReader sse_;
  std::vector<SseEvent> events_;
  bool over_ = false;
};

}  // namespace cay::agent
