#include "providers/langsmith_command.h"

#include <utility>

#include "async/deadline.h"
#include "client/json_read.h"
#include "providers/langsmith_api.h"

namespace cay::providers {
namespace {

namespace json = codec::json;
using client::string_in;

constexpr int kMostLosses = 6;

bool may_pass(int status) { return status == 429 || status >= 500; }

}  // namespace

LangSmithCommand::LangSmithCommand(http::Client& client, json::object first)
    : client_(client), first_(std::move(first)), id_(string_in(first_, "command_id")) {}

LangSmithCommand::LangSmithCommand(http::Client& client, const std::string& id, std::uint64_t out,
                                   std::uint64_t err)
    : client_(client), id_(id), started_(true), out_(out), err_(err) {}

Result<void> LangSmithCommand::note_loss(const std::string& why) {
  socket_.reset();
  if (++losses_ < kMostLosses) return {};
  return Error{Code::kUnavailable, "provider_unreachable",
               "the connection to the sandbox broke " + std::to_string(losses_) +
                   " times in succession: " + why,
               0};
}

Task<void> LangSmithCommand::connect_once() {
  auto upgrade = co_await client_.websocket("/execute/ws", {});
  if (!upgrade) {
    const bool passing = upgrade.error().code == Code::kUnavailable ||
                         upgrade.error().code == Code::kDeadlineExceeded;
    if (!passing) co_return std::move(upgrade).error();
    co_return note_loss(upgrade.error().message);
  }
  if (!upgrade->socket) {
    const auto& refusal = upgrade->refusal;
    auto error = langsmith_error(refusal.status, refusal.body);
    if (!may_pass(refusal.status)) co_return error;
    co_return note_loss(error.message);
  }
  socket_ = std::move(upgrade->socket);
  json::object frame = first_;
  if (started_) {
    frame = {{"type", "reconnect"},
             {"command_id", id_},
             {"stdout_offset", out_},
             {"stderr_offset", err_}};
  }
  auto sent = co_await socket_->send_text(codec::write(std::move(frame)));
  if (!sent) co_return note_loss(sent.error().message);
  const auto message = co_await socket_->read();
  if (message.kind != http::WsMessage::Kind::kText) co_return note_loss(message.data);
  CAY_CO_TRY(const auto answer, codec::parse_object(message.data));
  if (string_in(answer, "type") == "started") {
    started_ = true;
    losses_ = 0;
    co_return Result<void>();
  }
  CAY_CO_TRY(early_, take(answer));
  co_return Result<void>();
}

Task<void> LangSmithCommand::connect() {
  while (!socket_ && !early_) {
    if (losses_ > 0) {
      co_await sleep_for(Millis(250 << losses_));
    }
    CAY_CO_CHECK(co_await connect_once());
  }
  co_return Result<void>();
}

Result<std::optional<LangSmithEvent>> LangSmithCommand::take(const json::object& frame) {
  const auto type = string_in(frame, "type");
  if (type == "stdout" || type == "stderr") {
    auto& offset = type == "stdout" ? out_ : err_;
    LangSmithEvent event{.output = string_in(frame, "data")};
    offset = client::number_in(frame, "offset") + event.output.size();
    losses_ = 0;
    return std::optional<LangSmithEvent>(std::move(event));
  }
  if (type == "exit") {
    LangSmithEvent event{.ended = true};
    event.exit_code = static_cast<int>(client::number_in(frame, "exit_code"));
    return std::optional<LangSmithEvent>(std::move(event));
  }
  if (type == "error") {
    LangSmithEvent event{.ended = true};
    event.error_type = string_in(frame, "error_type");
    event.error = string_in(frame, "error");
    return std::optional<LangSmithEvent>(std::move(event));
  }
  return std::optional<LangSmithEvent>();  // a newer server's frame
}

Task<LangSmithEvent> LangSmithCommand::next() {
  for (;;) {
    CAY_CO_CHECK(co_await connect());
    if (early_) co_return *std::exchange(early_, std::nullopt);
    const auto message = co_await socket_->read();
    if (message.kind != http::WsMessage::Kind::kText) {
      CAY_CO_CHECK(note_loss(message.data));
      continue;
    }
    CAY_CO_TRY(const auto frame, codec::parse_object(message.data));
    CAY_CO_TRY(auto event, take(frame));
    if (event) co_return *std::move(event);
  }
}

Task<void> LangSmithCommand::send(json::object frame) {
  CAY_CO_CHECK(co_await connect());
  if (!socket_) {
    co_return Error{Code::kNotFound, "unknown_command", "no such command is kept: " + id_, 0};
  }
  auto sent = co_await socket_->send_text(codec::write(std::move(frame)));
  co_return sent;
}

}  // namespace cay::providers
