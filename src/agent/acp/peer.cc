#include "agent/acp/peer.h"

#include <utility>

namespace cay::agent::acp {
namespace {

namespace json = codec::json;

Result<json::value> result_of(const json::object& message) {
  if (const json::value* result = message.if_contains("result")) return *result;
  const json::value* error = message.if_contains("error");
  const json::object* details = error == nullptr ? nullptr : error->if_object();
  const json::value* text = details == nullptr ? nullptr : details->if_contains("message");
  std::string why = "the client refused the request";
  if (text != nullptr && text->is_string()) why += ": " + std::string(text->get_string());
  return Error{Code::kUnavailable, "peer_refused", why, 0};
}

const Error kGone{Code::kCancelled, "peer_gone", "the client has ended the connection", 0};

}  // namespace

Task<json::value> Peer::request(std::string method, json::object params) {
  if (closed_) co_return kGone;
  const std::uint64_t id = ++last_id_;
  auto waiting = std::make_shared<Waiting>(loop_);
  waiting_[id] = waiting;
  write({{"id", id}, {"method", method}, {"params", std::move(params)}});
  co_await waiting->answered.wait();
  waiting_.erase(id);
  co_return std::move(waiting->result);
}

void Peer::notify(std::string_view method, json::object params) {
  write({{"method", method}, {"params", std::move(params)}});
}

void Peer::answer(const json::value& id, json::value result) {
  write({{"id", id}, {"result", std::move(result)}});
}

void Peer::fail(const json::value& id, int code, std::string_view message) {
  write({{"id", id}, {"error", json::object{{"code", code}, {"message", codec::text(message)}}}});
}

bool Peer::take_answer(const json::object& message) {
  if (message.contains("method")) return false;
  const json::value* id = message.if_contains("id");
  if (id == nullptr || !id->is_number()) return false;
  const auto found = waiting_.find(id->to_number<std::uint64_t>());
  if (found == waiting_.end()) return true;  // of a request that nobody waits for
  found->second->result = result_of(message);
  found->second->answered.set();
  return true;
}

void Peer::close() {
  closed_ = true;
  for (auto& [id, waiting] : waiting_) {
    waiting->result = kGone;
    waiting->answered.set();
  }
}

void Peer::write(const json::object& message) {
  json::object out{{"jsonrpc", "2.0"}};
  for (const auto& [name, value] : message) out[name] = value;
  write_(codec::write(out) + "\n");
}

}  // namespace cay::agent::acp
