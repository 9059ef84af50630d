#include "agent/llm/reply_builder.h"

#include <random>
#include <set>

#include "agent/llm/vendor_error.h"

namespace cay::agent {
namespace {

constexpr std::size_t kMostCalls = 1024;  // of one message

}  // namespace

std::string new_call_id() {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr int kLength = 20;
  std::random_device random;
  std::string id = "call_";
  for (int i = 0; i < kLength; ++i) id += kLetters[random() % kLetters.size()];
  return id;
}

void ReplyBuilder::report(Delta::Kind kind, std::string_view text) {
  if (on_delta_) on_delta_(Delta{kind, std::string(text)});
}

void ReplyBuilder::add_text(std::string_view piece) {
  if (piece.empty()) return;
  if (message_.blocks.empty() || !std::holds_alternative<Text>(message_.blocks.back()))
    message_.blocks.emplace_back(Text{});
  std::get<Text>(message_.blocks.back()).text += piece;
  report(Delta::Kind::kText, piece);
}

void ReplyBuilder::add_thinking(std::string_view piece, std::string_view signature) {
  if (piece.empty() && signature.empty()) return;
  const bool continues = !message_.blocks.empty() && !thinking_ended_ &&
                         std::holds_alternative<Thinking>(message_.blocks.back());
  if (!continues) message_.blocks.emplace_back(Thinking{});
  auto& block = std::get<Thinking>(message_.blocks.back());
  block.text += piece;
  block.signature += signature;
  thinking_ended_ = !signature.empty();
  if (!piece.empty()) report(Delta::Kind::kThinking, piece);
}

Result<std::size_t> ReplyBuilder::begin_call(std::string id, std::string name) {
  if (message_.calls.size() >= kMostCalls)
    return bad_answer("it has more than " + std::to_string(kMostCalls) + " calls of tools");
  has_own_id_.push_back(!id.empty());
  message_.calls.push_back({id.empty() ? new_call_id() : std::move(id), std::move(name), {}});
  if (!message_.calls.back().name.empty())
    report(Delta::Kind::kCallBegin, message_.calls.back().name);
  return message_.calls.size() - 1;
}

void ReplyBuilder::set_name(std::size_t place, std::string name) {
  ToolCall& call = message_.calls.at(place);
  if (name.empty() || !call.name.empty()) return;
  call.name = std::move(name);
  report(Delta::Kind::kCallBegin, call.name);
}

void ReplyBuilder::set_id(std::size_t place, std::string id) {
  if (id.empty() || has_own_id_.at(place)) return;
  message_.calls.at(place).id = std::move(id);
  has_own_id_.at(place) = true;
}

void ReplyBuilder::add_arguments(std::size_t place, std::string_view piece) {
  if (piece.empty()) return;
  message_.calls.at(place).arguments += piece;
  report(Delta::Kind::kCallArguments, piece);
}

ModelReply ReplyBuilder::take(StopReason stop) {
  std::set<std::string> ids;
  for (ToolCall& call : message_.calls) {
    if (call.arguments.empty()) call.arguments = "{}";
    while (!ids.insert(call.id).second) call.id = new_call_id();
  }
  ModelReply reply;
  reply.stop = has_calls() && stop == StopReason::kEnd ? StopReason::kToolCalls : stop;
  reply.message = std::move(message_);
  reply.usage = usage_;
  reply.model = std::move(model_);
  return reply;
}

}  // namespace cay::agent
