#include "providers/daytona_command.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "client/json_read.h"
#include "providers/daytona_api.h"

namespace cay::providers {
namespace {

namespace json = codec::json;
using client::string_in;

constexpr int kMostLostInRow = 6;
constexpr int kNormalClosure = 1000;
constexpr std::size_t kMark = 3;

bool is_passing(int status) { return status == 429 || status >= 500; }

}  // namespace

std::string DaytonaLog::take(std::string_view piece) {
  std::string out;
  for (const char c : piece) {
    const bool could_be_mark = c == '\x01' || c == '\x02';
    if (!held_.empty() && (!could_be_mark || held_.front() != c)) out += std::exchange(held_, {});
    if (!could_be_mark) {
      out += c;
      continue;
    }
    held_ += c;
    if (held_.size() == kMark) held_.clear();
  }
  return out;
}

std::string DaytonaLog::end() { return std::exchange(held_, {}); }

DaytonaCommand::DaytonaCommand(http::Client& toolbox, std::string id)
    : toolbox_(toolbox), id_(std::move(id)) {}

std::string DaytonaCommand::target(std::string_view rest) const {
  return "/process/session/" + http::encode_segment(id_) + std::string(rest);
}

std::string DaytonaCommand::command_target(std::string_view rest) const {
  return target("/command/" + http::encode_segment(command_) + std::string(rest));
}

Task<void> DaytonaCommand::find() {
  CAY_CO_TRY(const auto session, co_await daytona_call(toolbox_, "GET", target()));
  const auto* commands = session.if_contains("commands");
  if (commands != nullptr && commands->is_array() && !commands->get_array().empty()) {
    const auto& first = commands->get_array().front();
    if (first.is_object()) command_ = string_in(first.get_object(), "id");
  }
  if (!command_.empty()) co_return Result<void>();
  co_return Error{Code::kNotFound, "unknown_command",
                  "no command '" + id_ + "' is kept for this sandbox", 0};
}

Task<void> DaytonaCommand::begin(std::string line) {
  json::object named;
  named["sessionId"] = id_;
  auto made = co_await daytona_call(toolbox_, "POST", "/process/session", codec::write(named));
  if (!made && made.error().code != Code::kAlreadyExists) co_return std::move(made).error();
  if (!made) {
    auto found = co_await find();
    // A session without a command: whoever made it got no further.
    if (found || found.error().reason != "unknown_command") co_return found;
  }
  json::object body;
  body["command"] = codec::text(line);
  body["runAsync"] = true;
  body["suppressInputEcho"] = true;
  CAY_CO_TRY(const auto begun,
             co_await daytona_call(toolbox_, "POST", target("/exec"), codec::write(body)));
  command_ = string_in(begun, "cmdId");
  if (!command_.empty()) co_return Result<void>();
  co_return Error{Code::kUnavailable, "provider_failed", "Daytona's answer names no command", 0};
}

Result<void> DaytonaCommand::note_loss(const std::string& why) {
  socket_.reset();
  if (++losses_ < kMostLostInRow) return {};
  return Error{Code::kUnavailable, "provider_unreachable",
               "the connection to the sandbox broke " + std::to_string(losses_) +
                   " times in succession: " + why,
               0};
}

// Whether a connection is there. It repeats the log from its beginning.
Task<bool> DaytonaCommand::connect_once() {
  if (losses_ > 0) {
    co_await sleep_for(Millis(125 << losses_));
  }
  auto upgrade = co_await toolbox_.websocket(command_target("/logs?follow=true"), {});
  if (!upgrade) {
    const bool passing = upgrade.error().code == Code::kUnavailable ||
                         upgrade.error().code == Code::kDeadlineExceeded;
    if (!passing) co_return std::move(upgrade).error();
    CAY_CO_CHECK(note_loss(upgrade.error().message));
    co_return false;
  }
  if (!upgrade->socket) {
    auto error = daytona_error(upgrade->refusal.status, upgrade->refusal.body);
    if (!is_passing(upgrade->refusal.status)) co_return error;
    CAY_CO_CHECK(note_loss(error.message));
    co_return false;
  }
  socket_ = std::move(upgrade->socket);
  skip_ = seen_;
  co_return true;
}

Task<Bytes> DaytonaCommand::next() {
  while (!ended_) {
    if (!socket_) {
      CAY_CO_TRY(const bool is_there, co_await connect_once());
      if (!is_there) continue;
    }
    auto message = co_await socket_->read();
    if (message.kind == http::WsMessage::Kind::kClosed) {
      socket_.reset();
      if (message.close_code != kNormalClosure) {
        CAY_CO_CHECK(note_loss("closed with " + std::to_string(message.close_code)));
        continue;
      }
      ended_ = true;
      auto rest = log_.end();
      if (!rest.empty()) co_return rest;
      break;
    }
    if (message.kind == http::WsMessage::Kind::kTooLong) {
      co_return Error{Code::kUnavailable, "provider_failed", message.data, 0};
    }
    losses_ = 0;
    const auto repeated = std::min<std::uint64_t>(skip_, message.data.size());
    skip_ -= repeated;
    const auto fresh = std::string_view(message.data).substr(repeated);
    seen_ += fresh.size();
    auto out = log_.take(fresh);
    if (!out.empty()) co_return out;
  }
  co_return Bytes();
}

Task<std::optional<int>> DaytonaCommand::exit_code() {
  CAY_CO_TRY(const auto command, co_await daytona_call(toolbox_, "GET", command_target()));
  const auto* code = command.if_contains("exitCode");
  if (code == nullptr || !code->is_number()) co_return std::optional<int>();
  co_return std::optional<int>(static_cast<int>(code->to_number<std::int64_t>()));
}

Task<std::string> DaytonaCommand::output() {
  CAY_CO_TRY(const auto logs, co_await daytona_call(toolbox_, "GET", command_target("/logs")));
  DaytonaLog log;
  auto out = log.take(string_in(logs, "output"));
  out += log.end();
  co_return out;
}

Task<void> DaytonaCommand::write_input(std::string text) {
  json::object body;
  body["data"] = codec::text(text);
  CAY_CO_CHECK(
      co_await daytona_call(toolbox_, "POST", command_target("/input"), codec::write(body)));
  co_return Result<void>();
}

Task<void> DaytonaCommand::remove() {
  auto removed = co_await daytona_call(toolbox_, "DELETE", target());
  if (!removed && removed.error().code != Code::kNotFound) co_return std::move(removed).error();
  co_return Result<void>();
}

}  // namespace cay::providers
