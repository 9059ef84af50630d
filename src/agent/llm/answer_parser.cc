#include "agent/llm/answer_parser.h"

#include <utility>

namespace cay::agent {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\xEF\xBB\xBF";  // and the bytes of a byte order mark
constexpr std::string_view kDone = "[DONE]";

}  // namespace

Result<void> AnswerParser::feed(std::string_view bytes) {
  seen_ += bytes.size();
  if (is_too_large()) return bad_answer("it has more than " + std::to_string(most_) + " bytes");
  if (form_ == Form::kEvents) {
    CAY_CHECK(sse_.feed(bytes, events_));
    return take_events();
  }
  body_ += bytes;
  return form_ == Form::kWhole ? Result<void>() : begin(bytes);
}

// An event begins with a name or a colon, an object with a brace.
Result<void> AnswerParser::begin(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  if (bytes[first] == '{') {
    form_ = Form::kWhole;
    return {};
  }
  if (bytes[first] == '<' || bytes[first] == '[' || bytes[first] == '"')
    return bad_answer("it begins with '" + std::string(1, bytes[first]) +
                      "'. Does the base URL name the API?");
  form_ = Form::kEvents;
  CAY_CHECK(sse_.feed(std::exchange(body_, {}), events_));
  return take_events();
}

Result<void> AnswerParser::take_events() {
  for (const SseEvent& event : std::exchange(events_, {})) {
    if (is_over()) break;
    if (event.data == kDone) {
      over_ = true;
      break;
    }
    if (event.data.empty()) continue;
    auto parsed = codec::parse_object(event.data);
    if (!parsed) return bad_answer("an event is no JSON object");
    CAY_CHECK(reader_->on_event(*parsed));
  }
  return {};
}

Result<ModelReply> AnswerParser::finish() {
  if (form_ == Form::kWhole) {
    const std::string_view object = std::string_view(body_).substr(body_.find('{'));
    auto parsed = codec::parse_object(object);
    if (!parsed) return bad_answer("it is no JSON object");
    CAY_CHECK(reader_->on_whole(*parsed));
  } else if (form_ == Form::kEvents && !is_over()) {
    sse_.finish(events_);
    // The last event may be cut, and is then no JSON.
    auto taken = take_events();
    if (!taken && taken.error().reason != "model_bad_answer") return std::move(taken).error();
  }
  if (reader_->is_whole()) return reader_->take();
  if (over_) return bad_answer("it ended without a message");
  return Error{Code::kUnavailable, "model_cut",
               "the answer broke off after " + std::to_string(seen_) + " bytes", 0};
}

}  // namespace cay::agent
