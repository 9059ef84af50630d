#include "api/daytona/toolbox/interpreter.h"

#include <chrono>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/request.h"
#include "api/daytona/toolbox/sockets.h"
#include "async/deadline.h"
#include "base/sha256.h"
#include "codec/time.h"
#include "core/verbs/contexts.h"
#include "model/command_limits.h"

namespace cay::api::daytona {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Patience = core::Contexts::Patience;
using Wait = core::Contexts::Wait;

constexpr std::string_view kInterpreterFront = "daytona-python-";
constexpr const char* kDefaultInterpreter = "daytona-python-default";
constexpr std::size_t kHeadDigits = 12;
constexpr std::int64_t kUsualLimit = 600;  // seconds
constexpr std::int64_t kLongestLimit = 86'400;
constexpr Wait kOneWait{15'000};
constexpr Millis kRequestLimit = 30s;
constexpr Wait kInterruptGrace{700};  // then its interpreter begins anew
constexpr std::size_t kMostRequestMessage = kJsonGrowth * kMostCode + (1 << 20);
constexpr int kEndNormal = 1000;
constexpr int kEndPolicy = 1008;
constexpr int kEndInternal = 1011;
constexpr int kEndTimeout = 4008;

struct InterpretRequest {
  std::string code;
  std::string context = kDefaultInterpreter;
  std::map<std::string, std::string> envs;
  std::int64_t limit_s = kUsualLimit;  // 0: none
};

Result<InterpretRequest> interpret_request_of(const std::string& message) {
  CAY_TRY(const auto body, codec::parse_object(message));
  codec::Fields fields(body);
  InterpretRequest out;
  if (!fields.read("code", out.code, kMostCode) || out.code.empty())
    fields.complain("code", "is required");
  std::string context;
  if (fields.read("contextId", context) && !context.empty() && context != "default")
    out.context = std::string(kInterpreterFront) + context;
  read_envs(fields, out.envs);
  fields.read("timeout", out.limit_s, 0, kLongestLimit);
  CAY_CHECK(checked_body(fields));
  return out;
}

// Python that sets variables, and keeps what they were before.
std::string setting_envs(const std::map<std::string, std::string>& envs) {
  codec::json::object values;
  for (const auto& [name, value] : envs) values[name] = codec::text(value);
  const std::string quoted = codec::write(codec::json::string(codec::write(values)));
  return "import json as _j, os as _o\n_cay_new = _j.loads(" + quoted +
         ")\n_cay_old = {k: _o.environ.get(k) for k in _cay_new}\n_o.environ.update(_cay_new)\n"
         "del _j, _o, _cay_new";
}

constexpr const char* kRestoreEnvs =
    "import os as _o\nfor _k, _v in _cay_old.items():\n"
    "    _o.environ.pop(_k, None) if _v is None else _o.environ.update({_k: _v})\n"
    "del _o, _cay_old, _k, _v";

// Nothing: the client learns of it in another way, or not at all.
std::optional<codec::json::object> frame_of(const ContextEvent& event) {
  using Kind = ContextEvent::Kind;
  switch (event.kind) {
    case Kind::kStdout:
    case Kind::kStderr:
      return codec::json::object{{"type", to_string(event.kind)},
                                 {"text", codec::text(event.text)}};
    case Kind::kError:
      return codec::json::object{{"type", "error"},
                                 {"name", codec::text(event.name)},
                                 {"value", codec::text(event.text)},
                                 {"traceback", codec::text(event.traceback)}};
    case Kind::kDisplay: {
      const auto plain = event.data.find("text/plain");
      if (plain == event.data.end()) return std::nullopt;
      return codec::json::object{{"type", "stdout"}, {"text", codec::text(plain->second + "\n")}};
    }
    case Kind::kGap:
      return codec::json::object{
          {"type", "stderr"},
          {"text", "\n[" + std::to_string(event.bytes) + " bytes of output were dropped here]\n"}};
    // Threads wrote it since the run before.
    case Kind::kBackground:
      return codec::json::object{{"type", event.name}, {"text", codec::text(event.text)}};
    case Kind::kResult:
    case Kind::kUnreadable: return std::nullopt;
  }
  return std::nullopt;
}

// One request of one client.
class Interpretation {
 public:
  Interpretation(core::Cay& cay, Box box, InterpretRequest request, http::WebSocket& socket)
      : cay_(cay), box_(std::move(box)), request_(std::move(request)), socket_(socket) {}

  // How the socket is to be closed.
  struct Ending {
    int code = kEndNormal;
    std::string reason;
  };

  asio::awaitable<Ending> run() {
    auto ready = co_await prepare();
    if (!ready) co_return ending_of(std::move(ready).error());
    auto ran = co_await evaluate();
    if (!request_.envs.empty()) {
      auto restored = co_await plain_run(kRestoreEnvs);
      static_cast<void>(restored);  // of an interpreter that is gone nothing is left to restore
    }
    if (!ran) co_return ending_of(std::move(ran).error());
    co_return *std::move(ran);
  }

 private:
  static Ending ending_of(Error error) {
    note_error(error);
    const bool unknown = error.reason == "unknown_context";
    return {unknown ? kEndPolicy : kEndInternal,
            unknown ? "context not found" : error.message.substr(0, 120)};
  }

  Task<void> prepare() {
    auto known = co_await cay_.contexts().get(box_.who, box_.ref, request_.context);
    const bool is_default = request_.context == kDefaultInterpreter;
    if (known && known->command.end.state != CommandState::kRunning) {
      if (!is_default) {
        co_return Error{Code::kNotFound, "unknown_context", "the context has ended", 0};
      }
      auto again = co_await cay_.contexts().restart(box_.who, box_.ref, request_.context);
      if (!again) co_return std::move(again).error();
    } else if (!known) {
      if (!is_default || known.error().code != Code::kNotFound) co_return std::move(known).error();
      ContextSpec spec;
      spec.id = request_.context;
      spec.run.workdir = box_.workdir;
      auto made = co_await cay_.contexts().create(box_.who, box_.ref, std::move(spec));
      if (!made) co_return std::move(made).error();
    }
    if (request_.envs.empty()) co_return Result<void>();
    auto set = co_await plain_run(setting_envs(request_.envs));
    co_return set;
  }

  Task<void> plain_run(std::string code) {
    EvaluationSpec spec;
    spec.code = std::move(code);
    CAY_CO_TRY(const Evaluation done,
               co_await cay_.contexts().evaluate(box_.who, box_.ref, request_.context,
                                                 std::move(spec), Wait(kRequestLimit)));
    static_cast<void>(done);
    co_return Result<void>();
  }

  // The time that is left of the limit, at most a while.
  Wait left() const {
    if (request_.limit_s == 0) return kOneWait;
    return std::min(kOneWait, std::chrono::duration_cast<Wait>(left_until(deadline_)));
  }
  bool is_late() const { return request_.limit_s > 0 && Clock::now() >= deadline_; }

  Task<Ending> evaluate() {
    deadline_ = Clock::now() + std::chrono::seconds(request_.limit_s);
    EvaluationSpec spec;
    spec.id = new_uuid();
    spec.code = request_.code;
    spec.interrupt_on_cancel = true;
    const std::string id = spec.id;
    CAY_CO_TRY(Evaluation got, co_await cay_.contexts().evaluate(
                                   box_.who, box_.ref, request_.context, std::move(spec), Wait(0)));
    for (;;) {
      CAY_CO_CHECK(co_await tell(got));
      if (got.state != EvaluationState::kRunning && !got.more) break;
      if (is_late()) {
        CAY_CO_CHECK(co_await cut_short(id, got.next));
        co_return Ending{kEndTimeout, "execution timed out"};
      }
      const Patience patience{.wait = left(), .until = Patience::Until::kEvent};
      CAY_CO_TRY(got, co_await cay_.contexts().evaluation(box_.who, box_.ref, request_.context, id,
                                                          got.next, patience));
    }
    if (got.state == EvaluationState::kLost)
      co_return Ending{kEndInternal, "the interpreter ended"};
    const bool interrupted = got.state == EvaluationState::kInterrupted;
    CAY_CO_CHECK(co_await control(interrupted ? "interrupted" : "completed"));
    co_return Ending{};
  }

  // Interrupts it. Code that ignores this loses its interpreter.
  Task<void> cut_short(std::string id, ContextPlace from) {
    CAY_CO_CHECK(co_await cay_.contexts().interrupt(box_.who, box_.ref, request_.context));
    const auto deadline = Clock::now() + kInterruptGrace;
    for (;;) {
      const Patience patience{.wait = std::chrono::duration_cast<Wait>(left_until(deadline)),
                              .until = Patience::Until::kEvent};
      auto got = co_await cay_.contexts().evaluation(box_.who, box_.ref, request_.context, id, from,
                                                     patience);
      if (!got) co_return std::move(got).error();
      std::erase_if(got->events, [](const ContextEvent& event) {
        return event.kind == ContextEvent::Kind::kError;  // the interrupt itself
      });
      CAY_CO_CHECK(co_await tell(*got));
      if (got->state != EvaluationState::kRunning && !got->more) break;
      from = got->next;
      if (Clock::now() >= deadline) {
        auto again = co_await cay_.contexts().restart(box_.who, box_.ref, request_.context);
        if (!again) co_return std::move(again).error();
        break;
      }
    }
    auto told = co_await control("interrupted");
    co_return told;
  }

  Task<void> tell(const Evaluation& got) {
    for (const ContextEvent& event : got.events) {
      const auto frame = frame_of(event);
      if (!frame) continue;
      CAY_CO_CHECK(co_await socket_.send_text(codec::write(*frame)));
    }
    co_return Result<void>();
  }

  Task<void> control(const char* text) {
    auto sent = co_await socket_.send_text(
        codec::write(codec::json::object{{"type", "control"}, {"text", text}}));
    co_return sent;
  }

  core::Cay& cay_;
  const Box box_;
  const InterpretRequest request_;
  http::WebSocket& socket_;
  Clock::time_point deadline_{};
};

codec::json::object interpreter_json(const Context& context) {
  return {{"id", context.id.substr(kInterpreterFront.size())},
          {"cwd", codec::text(context.command.cwd)},
          {"createdAt", codec::rfc3339(context.command.started_at)},
          {"active", context.command.end.state == CommandState::kRunning},
          {"language", context.language}};
}

Task<http::WsMessage> read_request(http::WebSocket& socket) {
  auto message = co_await socket.read();
  co_return message;
}

asio::awaitable<void> run_and_close(std::shared_ptr<Interpretation> work,
                                    std::shared_ptr<http::WebSocket> socket) {
  auto ended = co_await work->run();
  co_await socket->close(ended.code, std::move(ended.reason));
}

}  // namespace

Task<http::Response> create_interpreter(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string cwd, language;
  fields.read("cwd", cwd);
  fields.read("language", language);
  CAY_CO_CHECK(checked_body(fields));
  if (!language.empty() && language != "python")
    co_return vendor_error(kBadRequest, "unsupported language: " + language);
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  ContextSpec spec;
  spec.id = std::string(kInterpreterFront) + sha256_hex(new_uuid()).substr(0, kHeadDigits);
  spec.run.workdir = cwd.empty() ? box.workdir : box.absolute(cwd);
  CAY_CO_TRY(const Context made, co_await cay.contexts().create(box.who, box.ref, std::move(spec)));
  co_return json_answer(200, interpreter_json(made));
}

Task<http::Response> list_interpreters(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const auto all, co_await cay.contexts().list(box.who, box.ref));
  codec::json::array contexts;
  for (const Context& one : all) {
    if (!one.id.starts_with(kInterpreterFront) || one.id == kDefaultInterpreter) continue;
    if (one.command.end.state != CommandState::kRunning) continue;
    contexts.emplace_back(interpreter_json(one));
  }
  co_return json_answer(200, codec::json::object{{"contexts", std::move(contexts)}});
}

Task<http::Response> delete_interpreter(core::Cay& cay, ExchangePtr exchange) {
  const std::string id = exchange->params().at("context");
  if (id == "default") co_return vendor_error(kBadRequest, "cannot delete default context");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  auto gone = co_await cay.contexts().remove(box.who, box.ref, std::string(kInterpreterFront) + id);
  if (!gone && (gone.error().code == Code::kNotFound || gone.error().reason == "invalid_context"))
    co_return vendor_error(kProcessNotFound, "context not found");
  if (!gone) co_return std::move(gone).error();
  co_return json_answer(200, codec::json::object{{"message", "Context deleted successfully"}});
}

Task<void> interpret(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const auto socket, co_await listener_socket(exchange, kMostRequestMessage));
  auto reading = read_request(*socket);
  auto first = co_await with_deadline<http::WsMessage>(std::move(reading), kRequestLimit);
  if (!first || first->kind == http::WsMessage::Kind::kClosed) co_return Result<void>();
  auto request = interpret_request_of(first->data);
  if (!request) {
    co_await socket->close(kEndPolicy, request.error().message.substr(0, 120));
    co_return Result<void>();
  }
  const auto work = std::make_shared<Interpretation>(cay, box, *std::move(request), *socket);
  co_await while_open(socket, run_and_close(work, socket));
  co_return Result<void>();
}

}  // namespace cay::api::daytona
