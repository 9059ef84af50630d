// Terminals on WebSockets. The server speaks first. Output and input are binary frames, and texts
// are controls (protocol reference, section 8).
#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "api/common/stdin_write.h"
#include "api/daytona/toolbox/base64url.h"
#include "api/daytona/toolbox/ends.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/mux.h"
#include "api/daytona/toolbox/pty.h"
#include "async/scope.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kExitControl = "X-Daytona-Pty-Exit-Control";
constexpr std::string_view kEnvsProtocol = "X-Daytona-Pty-Envs~";
constexpr std::string_view kVersionOffer = "X-Daytona-SDK-Version~";
constexpr std::size_t kMostInputMessage = 4 << 20;
constexpr std::uint64_t kReplayed = 64 * 1024;  // of the output before a client came
constexpr std::uint16_t kMostPtyCells = 1000;
constexpr std::size_t kMostReason = 123;  // of a close: RFC 6455, 5.5
constexpr int kCloseNormal = 1000;
constexpr int kCloseInternal = 1011;

// The settings in the subprotocols that the client offers.
struct PtyOffers {
  bool exit_control = false;
  std::map<std::string, std::string> envs;
};

Result<PtyOffers> offers_of(ExchangePtr exchange) {
  PtyOffers out;
  const auto& head = exchange->head();
  const auto exit_control = offered_protocol(head, kExitControl);
  const auto envs = offered_protocol(head, kEnvsProtocol);
  const auto version = offered_protocol(head, kVersionOffer);
  out.exit_control = exit_control.has_value();
  for (const auto& one : {exit_control, version, envs}) {
    if (!one) continue;
    exchange->choose_protocol(*one);
    break;
  }
  if (!envs) return out;
  const auto text = from_base64url(std::string_view(*envs).substr(kEnvsProtocol.size()));
  const auto in = text ? codec::parse_object(*text) : Result<codec::json::object>();
  if (!in) return vendor_error(kBadRequest, "the variables in the subprotocol cannot be read");
  for (const auto& [name, value] : *in) {
    if (!value.is_string() || !is_variable_name(name))
      return vendor_error(kBadRequest, "invalid environment variable name: " + std::string(name));
    out.envs.emplace(name, value.as_string());
  }
  return out;
}

Result<std::uint16_t> cells_of(const ExchangePtr& exchange, std::string_view name,
                               std::uint16_t otherwise) {
  const std::string text = query_text(exchange, name);
  if (text.empty()) return otherwise;
  std::uint16_t cells = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, cells);
  if (read.ec == std::errc() && read.ptr == end && cells >= 1 && cells <= kMostPtyCells)
    return cells;
  return vendor_error(kBadRequest, std::string(name) + " is 1 to 1000");
}

// A kill of the whole tree has no number of its own: it is SIGKILL.
std::string signal_name(int number) {
  if (number == 0) number = SIGKILL;
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

std::string reason_of(const CommandEnd& end) {
  if (end.state == CommandState::kExited) return {};
  if (end.state == CommandState::kOomKilled) return "killed: the sandbox's memory was full";
  return signal_name(end.signal);
}

codec::json::object end_json(const CommandEnd& end, int exit_code) {
  codec::json::object out{{"exitCode", exit_code}};
  const std::string reason = reason_of(end);
  if (!reason.empty()) out["exitReason"] = codec::text(reason);
  return out;
}

// {"error": MESSAGE}, of which a long message loses its end.
std::string close_reason(const std::string& message) {
  for (std::size_t size = message.size();; --size) {
    const codec::json::object out{{"error", codec::text(message.substr(0, size))}};
    std::string text = codec::write(out);
    if (text.size() <= kMostReason || size == 0) return text;
  }
}

// A terminal needs the return of its cursor, too.
std::string dropped_in_terminal(std::uint64_t bytes) {
  std::string out;
  for (const char c : dropped_line(std::to_string(bytes)))
    out += c == '\n' ? "\r\n" : std::string(1, c);
  return out;
}

// One client of one terminal.
class PtyClient {
 public:
  PtyClient(core::Cay& cay, Box box, CommandId id, bool exit_control,
            std::unique_ptr<http::WebSocket> socket)
      : cay_(cay),
        box_(std::move(box)),
        id_(std::move(id)),
        exit_control_(exit_control),
        socket_(std::move(socket)) {}

  // Until the terminal's end, or until the client goes.
  asio::awaitable<void> run(core::OutputOffsets from) {
    auto reader = co_await cay_.commands().attach(box_.who, box_.ref, id_, from);
    if (!reader) {
      co_await refuse(std::move(reader).error());
      co_return;
    }
    reader_ = *std::move(reader);
    auto told = co_await socket_->send_text(R"({"type":"control","status":"connected"})");
    if (!told) co_return;
    Scope sending(co_await asio::this_coro::executor);
    sending.spawn(pump());
    co_await sending.until(obey());
  }

 private:
  asio::awaitable<void> refuse(Error error) {
    note_error(error);
    const codec::json::object control{
        {"type", "control"}, {"status", "error"}, {"error", codec::text(error.message)}};
    auto told = co_await socket_->send_text(codec::write(control));
    static_cast<void>(told);
    co_await socket_->close(kCloseInternal, "");
  }

  asio::awaitable<void> pump() {
    for (;;) {
      auto event = co_await reader_->next();
      if (!event) {
        co_await refuse(std::move(event).error());
        co_return;
      }
      if (auto* data = std::get_if<core::OutputData>(&*event)) {
        auto sent = co_await socket_->send_binary(std::move(data->bytes));
        if (!sent) co_return;
      } else if (const auto* gap = std::get_if<core::OutputGap>(&*event)) {
        auto sent = co_await socket_->send_binary(dropped_in_terminal(gap->length));
        if (!sent) co_return;
      } else if (const auto* end = std::get_if<core::OutputEnd>(&*event)) {
        const CommandEnd how = end->command.end;
        co_await finish(how);
        co_return;
      }
    }
  }

  // Without an exit code where the program did not end by itself: clients then show the error.
  asio::awaitable<void> finish(CommandEnd how) {
    const auto exit_code = exit_code_of(how);
    if (!exit_code) {
      note_error(exit_code.error());
      co_await socket_->close(kCloseInternal, close_reason(exit_code.error().message));
      co_return;
    }
    codec::json::object end = end_json(how, *exit_code);
    const std::string reason = codec::write(end);
    if (exit_control_) {
      end["type"] = "control";
      end["status"] = "exited";
      auto told = co_await socket_->send_text(codec::write(end));
      static_cast<void>(told);
    }
    const codec::json::object short_end{{"exitCode", *exit_code}};
    co_await socket_->close(kCloseNormal,
                            reason.size() <= kMostReason ? reason : codec::write(short_end));
  }

  asio::awaitable<void> obey() {
    for (;;) {
      auto got = co_await socket_->read();
      if (got.kind == http::WsMessage::Kind::kClosed) co_return;
      if (got.kind == http::WsMessage::Kind::kTooLong) {
        co_await socket_->close(http::WebSocket::kTooLongCode, std::move(got.data));
        co_return;
      }
      if (got.data.empty()) continue;
      auto written =
          co_await write_whole_stdin(cay_, box_.who, box_.ref, id_, std::move(got.data), false);
      // The pump reports the terminal's end.
      if (!written && !stdin_is_over(written.error())) {
        co_await refuse(std::move(written).error());
        co_return;
      }
    }
  }

  core::Cay& cay_;
  const Box box_;
  const CommandId id_;
  const bool exit_control_;
  std::unique_ptr<http::WebSocket> socket_;
  core::Reader reader_;
};

Error upgrade_wanted() {
  return vendor_error(kBadRequest, "this route is a WebSocket: connect with an Upgrade");
}

}  // namespace

Task<void> create_connect_pty(core::Cay& cay, ExchangePtr exchange) {
  if (!exchange->head().wants_websocket) co_return upgrade_wanted();
  PtySpec spec;
  CAY_CO_TRY(spec.id, needed_query(exchange, "id"));
  spec.cwd = query_text(exchange, "cwd");
  CAY_CO_TRY(spec.size.cols, cells_of(exchange, "cols", spec.size.cols));
  CAY_CO_TRY(spec.size.rows, cells_of(exchange, "rows", spec.size.rows));
  CAY_CO_TRY(PtyOffers offers, offers_of(exchange));
  spec.envs = std::move(offers.envs);
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Command made, co_await start_pty(cay, box, std::move(spec)));
  exchange->note_subject("command " + made.id.get());
  CAY_CO_TRY(auto socket, co_await exchange->upgrade(kMostInputMessage));
  PtyClient client(cay, box, made.id, offers.exit_control, std::move(socket));
  co_await client.run({});
  co_return Result<void>();
}

// A client that comes later sees the last of what was written before.
Task<void> connect_pty(core::Cay& cay, ExchangePtr exchange) {
  if (!exchange->head().wants_websocket) co_return upgrade_wanted();
  CAY_CO_TRY(const PtyOffers offers, offers_of(exchange));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Command command, co_await find_pty(cay, box, exchange->params().at("pty")));
  exchange->note_subject("command " + command.id.get());
  CAY_CO_TRY(auto socket, co_await exchange->upgrade(kMostInputMessage));
  PtyClient client(cay, box, command.id, offers.exit_control, std::move(socket));
  const std::uint64_t bytes = command.out.bytes;
  co_await client.run({.out = bytes > kReplayed ? bytes - kReplayed : 0});
  co_return Result<void>();
}

}  // namespace cay::api::daytona
