#include "agent/llm/vendor_error.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/ascii.h"
#include "codec/lenient.h"
#include "codec/utf8.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kPaymentRequired = 402;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kRequestTimeout = 408;
constexpr int kConflict = 409;
constexpr int kTooLarge = 413;
constexpr int kUnprocessable = 422;
constexpr int kTooManyRequests = 429;
constexpr int kServerError = 500;
constexpr int kNotImplemented = 501;
constexpr int kLastStatus = 599;
constexpr std::size_t kMostWords = 600;  // bytes of a server's message that are shown

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// One line of text that a terminal can show.
std::string shown(std::string_view text) {
  std::string out = codec::sanitised_utf8(text.substr(0, kMostWords));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return out;
}

// Text, or a number as text: servers write codes both ways.
std::string word_at(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  if (found == nullptr || found->is_null()) return {};
  return found->is_string() ? codec::string_at(in, name) : codec::write(*found);
}

// The vendors' words for a conversation that is longer than the model's context. There is a code
// for it in OpenAI's API alone. A message of the others names the conversation, a measure of its
// length, and an excess.
bool is_overflow(const VendorError& error, const std::string& words) {
  if (error.code == "context_length_exceeded" || error.status == kTooLarge) return true;
  const bool may_be = error.status == 0 || error.status == kBadRequest ||
                      error.status == kUnprocessable || error.status == kServerError;
  return may_be && has_any(words, {"context", "prompt", "input", "conversation"}) &&
         has_any(words, {"token", "context length", "context window", "context size",
                         "context_length", "context_window", "context_size", "context limit",
                         "input length", "prompt length"}) &&
         has_any(words, {"exceed", "too long", "too large", "too many", "maximum", "larger than",
                         "longer than", "greater than", "length should be", "overflow"});
}

bool is_quota(const VendorError& error, const std::string& words) {
  return error.status == kPaymentRequired ||
         has_any(words, {"insufficient_quota", "billing_error", "billing_hard_limit",
                         "credit balance", "insufficient balance", "insufficient credit"});
}

struct Meaning {
  Code code;
  const char* reason;
  const char* words;
};

Meaning meaning_of(const VendorError& error) {
  const std::string kind = lowered(error.type + " " + error.code);
  const std::string words = kind + " " + lowered(error.message);
  if (is_quota(error, words))
    return {Code::kExhausted, "model_quota", "the account has no credit left"};
  if (is_overflow(error, words))
    return {Code::kInvalidArgument, "context_overflow",
            "the conversation is longer than the model's context"};
  if (error.status == kUnauthorized || error.status == kForbidden ||
      has_any(kind, {"authentication_error", "invalid_api_key", "permission_error"}))
    return {Code::kUnauthenticated, "model_key_refused", "the server refused the key"};
  if (error.status == kTooManyRequests || has_any(kind, {"rate_limit"}))
    return {Code::kExhausted, "model_rate_limited", "the server allows no more requests for now"};
  if (error.status == kNotFound || has_any(kind, {"model_not_found", "not_found_error"}))
    return {Code::kInvalidArgument, "model_unknown", "the server has no such model or path"};
  const bool server_fails =
      (error.status >= kServerError && error.status != kNotImplemented) ||
      error.status == kRequestTimeout || error.status == kConflict ||
      has_any(kind, {"overloaded", "server_error", "api_error", "timeout", "unavailable"});
  if (server_fails)
    return {Code::kUnavailable, "model_overloaded", "the server cannot answer for now"};
  return {Code::kInvalidArgument, "model_request_refused", "the server refused the request"};
}

}  // namespace

bool VendorError::names(std::string_view member) const {
  return param == member || message.find(member) != std::string::npos;
}

VendorError vendor_error_of(const json::value& error) {
  VendorError out;
  if (error.is_string()) {
    out.message = std::string(error.get_string());
    return out;
  }
  if (!error.is_object()) {
    out.message = codec::write(error);
    return out;
  }
  const json::object& in = error.get_object();
  out.type = word_at(in, "type");
  out.code = word_at(in, "code");
  out.message = word_at(in, "message");
  out.param = word_at(in, "param");
  // Some servers write the status of HTTP as the code of an error inside an answer.
  const int code = codec::number_at<int>(in, "code");
  if (code >= kBadRequest && code <= kLastStatus) out.status = code;
  if (out.message.empty()) out.message = codec::write(error);
  return out;
}

VendorError vendor_error_of_body(int status, std::string_view body) {
  VendorError out;
  const auto parsed = codec::parse_object(body);
  if (!parsed) {
    out.message = std::string(body);
  } else if (const json::value* error = parsed->if_contains("error");
             error != nullptr && !error->is_null()) {
    out = vendor_error_of(*error);
  } else if (const json::value* detail = parsed->if_contains("detail"); detail != nullptr) {
    out = vendor_error_of(*detail);
  } else {
    out = vendor_error_of(*parsed);
  }
  out.status = status;
  return out;
}

Error to_error(const VendorError& error) {
  const Meaning meaning = meaning_of(error);
  std::string message = meaning.words;
  if (error.status != 0) message += " (HTTP " + std::to_string(error.status) + ")";
  if (!error.message.empty()) message += ": " + shown(error.message);
  return {meaning.code, meaning.reason, std::move(message), 0};
}

bool is_passing(const Error& error) {
  static constexpr std::array<std::string_view, 6> kPassing{
      "model_rate_limited", "model_timeout",    "model_unreachable",
      "model_overloaded",   "model_bad_answer", "model_cut"};
  return std::find(kPassing.begin(), kPassing.end(), error.reason) != kPassing.end();
}

Error bad_answer(std::string_view why) {
  return {Code::kUnavailable, "model_bad_answer",
          "the server's answer cannot be used: " + std::string(why), 0};
}

}  // namespace cay::agent
