#include "api/daytona/toolbox/pty.h"

#include <charconv>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/run.h"
#include "base/sha256.h"
#include "codec/time.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kPtyMark = "daytona-pty ";
constexpr std::size_t kPtyHashDigits = 32;
constexpr std::size_t kLongestPtyId = 256;
constexpr std::size_t kMostPtyEnvs = 16 << 10;
constexpr std::int64_t kMostCells = 1000;
constexpr std::int64_t kPtyKept = 600'000;

// Becomes the user's login shell.
constexpr const char* kLoginShell =
    "for s in /bin/zsh /usr/bin/zsh /bin/bash /usr/bin/bash /bin/sh; do\n"
    "  [ -x \"$s\" ] && exec \"$s\" -l\n"
    "done\n"
    "exit 127";

bool runs(const Command& command) { return command.end.state == CommandState::kRunning; }

Error no_such_pty() { return vendor_error(kProcessNotFound, "PTY session not found"); }

std::int64_t number_in(const codec::json::object& in, std::string_view name,
                       std::int64_t otherwise) {
  const auto* value = in.if_contains(name);
  return value != nullptr && value->is_int64() ? value->as_int64() : otherwise;
}

std::string text_in(const codec::json::object& in, std::string_view name) {
  const auto* value = in.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

PtySize size_of(std::int64_t rows, std::int64_t cols) {
  return {.rows = static_cast<std::uint16_t>(rows), .cols = static_cast<std::uint16_t>(cols)};
}

// The size of the terminal now, as the sandbox has it. A sandbox without stty shows the first one.
Task<PtySize> size_now(core::Cay& cay, Box box, Command command, PtySize first) {
  if (!runs(command)) co_return first;
  Program program{.argv = {"stty", "-F", "/proc/" + std::to_string(command.pid) + "/fd/0", "size"}};
  const auto part = cay.answers().begin(box.who.tenant);
  const auto ran = co_await run_program(cay, std::move(box), std::move(program), part);
  if (!ran) co_return first;
  PtySize size;
  const char* const end = ran->out.data() + ran->out.size();
  const auto rows = std::from_chars(ran->out.data(), end, size.rows);
  if (rows.ec != std::errc() || rows.ptr == end) co_return first;
  const auto cols = std::from_chars(rows.ptr + 1, end, size.cols);
  co_return cols.ec == std::errc() ? size : first;
}

Task<codec::json::object> pty_json(core::Cay& cay, Box box, Command command, PtySpec spec) {
  CAY_CO_TRY(const PtySize size, co_await size_now(cay, std::move(box), command, spec.size));
  codec::json::object envs;
  for (const auto& [name, value] : spec.envs) envs[name] = codec::text(value);
  co_return codec::json::object{
      {"id", codec::text(spec.id)}, {"cwd", codec::text(spec.cwd)},
      {"envs", std::move(envs)},    {"cols", size.cols},
      {"rows", size.rows},          {"createdAt", codec::rfc3339(command.started_at)},
      {"active", runs(command)},    {"lazyStart", spec.lazy}};
}

}  // namespace

std::string pty_mark(const PtySpec& spec) {
  codec::json::object envs;
  for (const auto& [name, value] : spec.envs) envs[name] = codec::text(value);
  return std::string(kPtyMark) + codec::write(codec::json::object{{"id", codec::text(spec.id)},
                                                                  {"cwd", codec::text(spec.cwd)},
                                                                  {"envs", std::move(envs)},
                                                                  {"rows", spec.size.rows},
                                                                  {"cols", spec.size.cols},
                                                                  {"lazy", spec.lazy}});
}

std::optional<PtySpec> pty_from_mark(std::string_view mark) {
  if (!mark.starts_with(kPtyMark)) return std::nullopt;
  const auto in = codec::parse_object(mark.substr(kPtyMark.size()));
  if (!in) return std::nullopt;
  PtySpec out;
  out.id = text_in(*in, "id");
  out.cwd = text_in(*in, "cwd");
  out.size = size_of(number_in(*in, "rows", out.size.rows), number_in(*in, "cols", out.size.cols));
  const auto* lazy = in->if_contains("lazy");
  out.lazy = lazy != nullptr && lazy->is_bool() && lazy->as_bool();
  const auto* envs = in->if_contains("envs");
  if (envs != nullptr && envs->is_object()) {
    for (const auto& [name, value] : envs->as_object()) {
      if (value.is_string()) out.envs.emplace(name, value.as_string());
    }
  }
  if (out.id.empty()) return std::nullopt;
  return out;
}

CommandId pty_command_id(std::string_view id) {
  return CommandId("daytona-pty-" + sha256_hex(id).substr(0, kPtyHashDigits));
}

Task<Command> find_pty(core::Cay& cay, Box box, std::string id) {
  auto found = co_await cay.commands().get(box.who, box.ref, pty_command_id(id));
  if (!found && found.error().code == Code::kNotFound) co_return no_such_pty();
  if (found) {
    const auto spec = pty_from_mark(found->mark);
    if (!spec || spec->id != id) co_return no_such_pty();
  }
  co_return found;
}

Task<Command> start_pty(core::Cay& cay, Box box, PtySpec spec) {
  if (spec.id.empty() || spec.id.size() > kLongestPtyId)
    co_return vendor_error(kBadRequest, "a PTY session's id has 1 to 256 bytes");
  std::size_t bytes = 0;
  for (const auto& [name, value] : spec.envs) bytes += name.size() + value.size();
  if (bytes > kMostPtyEnvs)
    co_return vendor_error(kBadRequest, "the variables of a PTY have at most 16 KiB");
  const CommandId id = pty_command_id(spec.id);
  const Error conflict =
      vendor_error(kConflict, "PTY session with ID '" + spec.id + "' already exists");
  auto before = co_await cay.commands().get(box.who, box.ref, id);
  if (before && runs(*before)) co_return conflict;
  if (before) {
    auto forgotten = co_await cay.commands().forget(box.who, box.ref, id);
    if (!forgotten && forgotten.error().code != Code::kNotFound)
      co_return std::move(forgotten).error();
  }
  spec.envs.try_emplace("TERM", "xterm-256color");
  spec.cwd = spec.cwd.empty() ? box.workdir : box.absolute(spec.cwd);
  CommandSpec command;
  command.id = id;
  command.argv = {"/bin/sh", "-c", kLoginShell};
  command.run.env = spec.envs;
  command.run.workdir = spec.cwd;
  command.pty = spec.size;
  command.ttl_ms = kPtyKept;
  command.mark = pty_mark(spec);
  auto made = co_await cay.commands().start(box.who, box.ref, std::move(command));
  if (made && made->known) co_return conflict;
  if (!made && made.error().code == Code::kConflict) co_return conflict;
  co_return made;
}

Task<http::Response> create_pty(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  PtySpec spec;
  if (!fields.read("id", spec.id) || spec.id.empty()) spec.id = new_uuid();
  fields.read("cwd", spec.cwd);
  fields.read("lazyStart", spec.lazy);
  read_envs(fields, spec.envs);
  std::int64_t rows = spec.size.rows, cols = spec.size.cols;
  fields.read("rows", rows, 1, kMostCells);
  fields.read("cols", cols, 1, kMostCells);
  CAY_CO_CHECK(checked_body(fields));
  spec.size = size_of(rows, cols);
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string id = spec.id;
  CAY_CO_TRY(const Command made, co_await start_pty(cay, box, std::move(spec)));
  exchange->note_subject("command " + made.id.get());
  co_return json_answer(201, codec::json::object{{"sessionId", codec::text(id)}});
}

Task<http::Response> list_ptys(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const auto commands, co_await cay.commands().list(box.who, box.ref));
  codec::json::array sessions;
  for (const Command& command : commands) {
    auto spec = pty_from_mark(command.mark);
    if (!spec || !runs(command)) continue;
    CAY_CO_TRY(auto one, co_await pty_json(cay, box, command, *std::move(spec)));
    sessions.emplace_back(std::move(one));
  }
  co_return json_answer(200, codec::json::object{{"sessions", std::move(sessions)}});
}

Task<http::Response> get_pty(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Command command, co_await find_pty(cay, box, exchange->params().at("pty")));
  if (!runs(command)) co_return no_such_pty();
  CAY_CO_TRY(const auto out, co_await pty_json(cay, box, command, *pty_from_mark(command.mark)));
  co_return json_answer(200, out);
}

Task<http::Response> resize_pty(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::int64_t rows = 0, cols = 0;
  if (!fields.read("rows", rows, 1, kMostCells)) fields.complain("rows", "is 1 to 1000");
  if (!fields.read("cols", cols, 1, kMostCells)) fields.complain("cols", "is 1 to 1000");
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Command command, co_await find_pty(cay, box, exchange->params().at("pty")));
  if (!runs(command)) co_return vendor_error(kGone, "PTY session has ended");
  const PtySize size = size_of(rows, cols);
  CAY_CO_CHECK(co_await cay.commands().resize(box.who, box.ref, command.id, size));
  CAY_CO_TRY(auto out, co_await pty_json(cay, box, command, *pty_from_mark(command.mark)));
  out["rows"] = size.rows;
  out["cols"] = size.cols;
  co_return json_answer(200, out);
}

Task<http::Response> delete_pty(core::Cay& cay, ExchangePtr exchange) {
  const std::string id = exchange->params().at("pty");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Command command, co_await find_pty(cay, box, id));
  if (!runs(command)) co_return no_such_pty();
  CAY_CO_CHECK(co_await cay.commands().kill(box.who, box.ref, command.id, 0));
  co_return json_answer(200, codec::json::object{{"message", "PTY session deleted"}});
}

}  // namespace cay::api::daytona
