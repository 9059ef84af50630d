#include "api/daytona/toolbox/sessions.h"

#include <algorithm>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/request.h"
#include "api/daytona/toolbox/session_log.h"
#include "api/daytona/toolbox/session_record.h"
#include "core/verbs/contexts.h"
#include "core/verbs/files.h"

namespace cay::api::daytona {
namespace {

constexpr std::size_t kLongestSessionId = 256;
// The vendor's words for a first program that only waits, as Cay's init does.
constexpr const char* kNothingToDo = "'sleep' 'infinity'";

Result<std::string> session_id_of(const codec::json::object& body) {
  codec::Fields fields(body);
  std::string id;
  if (!fields.read("sessionId", id) || id.empty()) fields.complain("sessionId", "is required");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  if (id.size() > kLongestSessionId || std::ranges::any_of(id, is_control))
    fields.complain("sessionId", "has at most 256 bytes, and no control character");
  CAY_CHECK(checked_body(fields));
  if (id == kEntrypoint) return vendor_error(kConflict, "session already exists");
  return id;
}

// Whether the command has ended, and with which code.
Task<codec::json::object> command_json(core::Cay& cay, Box box, std::string session,
                                       std::string command) {
  CAY_CO_TRY(const std::string text, co_await read_command(cay, box, session, command));
  codec::json::object out{{"id", command}, {"command", codec::text(text)}};
  CAY_CO_TRY(const auto exit_code, co_await end_of_command(cay, box, session, command));
  if (exit_code) out["exitCode"] = *exit_code;
  co_return out;
}

Task<codec::json::object> session_json(core::Cay& cay, Box box, std::string session) {
  CAY_CO_TRY(const auto ids, co_await commands_of_session(cay, box, session));
  codec::json::array commands;
  for (const std::string& id : ids) {
    auto one = co_await command_json(cay, box, session, id);
    if (one) commands.emplace_back(*std::move(one));
    // One that was forgotten meanwhile is none, nor is one that never ran.
    const bool is_none =
        !one && (one.error().code == Code::kNotFound || one.error().reason == kNeverRan.word);
    if (!one && !is_none) co_return std::move(one).error();
  }
  co_return codec::json::object{{"sessionId", codec::text(session)},
                                {"commands", std::move(commands)}};
}

// Removes what is left of a session that ended, so that its id can be used again.
Task<void> clear_session(core::Cay& cay, Box box, std::string session) {
  auto gone = co_await cay.contexts().remove(box.who, box.ref, context_of_session(session));
  if (!gone && gone.error().code != Code::kNotFound) co_return gone;
  auto removed =
      co_await cay.files().remove(box.who, box.ref, session_directory(session), box.as(), true);
  if (!removed && removed.error().code != Code::kNotFound) co_return removed;
  co_return Result<void>();
}

}  // namespace

Task<http::Response> create_session(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  CAY_CO_TRY(const std::string id, session_id_of(body));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  auto known = co_await cay.contexts().get(box.who, box.ref, context_of_session(id));
  if (known && known->command.end.state == CommandState::kRunning)
    co_return vendor_error(kConflict, "session already exists");
  if (!known && known.error().code != Code::kNotFound) co_return std::move(known).error();
  CAY_CO_CHECK(co_await clear_session(cay, box, id));
  CAY_CO_TRY(const std::string home, co_await home_of(cay, box));
  ContextSpec spec;
  spec.id = context_of_session(id);
  spec.language = "bash";
  spec.run.workdir = home;
  spec.run.env = session_env(id);
  auto made = co_await cay.contexts().create(box.who, box.ref, spec);
  if (!made && made.error().reason == "bad_cwd") {  // a user without a home
    spec.run.workdir = "/";
    made = co_await cay.contexts().create(box.who, box.ref, std::move(spec));
  }
  if (!made) co_return std::move(made).error();
  if (made->command.known) co_return vendor_error(kConflict, "session already exists");
  co_return empty_answer(201);
}

Task<http::Response> list_sessions(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const auto contexts, co_await cay.contexts().list(box.who, box.ref));
  codec::json::array out;
  for (const Context& context : contexts) {
    const std::string session = session_of_context(context);
    if (session.empty()) continue;
    CAY_CO_TRY(auto one, co_await session_json(cay, box, session));
    out.emplace_back(std::move(one));
  }
  co_return json_answer(200, out);
}

Task<http::Response> get_session(core::Cay& cay, ExchangePtr exchange) {
  const std::string session = exchange->params().at("session");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Context context, co_await find_session(cay, box, session));
  static_cast<void>(context);
  CAY_CO_TRY(const auto out, co_await session_json(cay, box, session));
  co_return json_answer(200, out);
}

Task<http::Response> delete_session(core::Cay& cay, ExchangePtr exchange) {
  const std::string session = exchange->params().at("session");
  if (session == kEntrypoint)
    co_return vendor_error(kBadRequest, "the entrypoint session cannot be deleted");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Context context, co_await find_session(cay, box, session));
  static_cast<void>(context);
  CAY_CO_CHECK(co_await clear_session(cay, box, session));
  co_return empty_answer(204);
}

Task<http::Response> session_command(core::Cay& cay, ExchangePtr exchange) {
  const std::string session = exchange->params().at("session");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Context context, co_await find_session(cay, box, session));
  static_cast<void>(context);
  CAY_CO_TRY(const auto out,
             co_await command_json(cay, box, session, exchange->params().at("command")));
  co_return json_answer(200, out);
}

Task<http::Response> entrypoint_session(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  static_cast<void>(box);
  codec::json::array commands;
  commands.emplace_back(codec::json::object{{"id", kEntrypointCommand}, {"command", kNothingToDo}});
  co_return json_answer(
      200, codec::json::object{{"sessionId", kEntrypoint}, {"commands", std::move(commands)}});
}

}  // namespace cay::api::daytona
