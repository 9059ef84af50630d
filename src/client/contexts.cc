// The verbs on contexts.
#include "cay/contexts.h"

#include "client/connection.h"
#include "client/context_values.h"
#include "client/errors.h"
#include "client/json_read.h"
#include "codec/base64.h"

namespace cay::sdk {
namespace {

using client::string_in;
namespace json = boost::json;

const json::object& member_object(const json::object& from, std::string_view name) {
  static const json::object kNone;
  const auto* found = from.if_contains(name);
  return found != nullptr && found->is_object() ? found->get_object() : kNone;
}

}  // namespace

std::string context_target(const std::string& ref, const std::string& id, const std::string& rest) {
  return client::sandbox_target(ref, "/contexts/" + http::encode_segment(id) + rest);
}

json::object context_body(const ContextOptions& options) {
  json::object body;
  const auto put = [&body](const char* name, const std::string& value) {
    if (!value.empty()) body[name] = value;
  };
  put("id", options.id);
  put("language", options.language);
  put("user", options.user);
  put("cwd", options.cwd);
  json::object env;
  for (const auto& [name, value] : options.env) env[name] = value;
  if (!env.empty()) body["env"] = std::move(env);
  if (options.warm) body["warm"] = true;
  return body;
}

ContextInfo context_from(const json::object& from) {
  return {.id = string_in(from, "id"),
          .language = string_in(from, "language"),
          .state = string_in(from, "state"),
          .generation = client::number_in(from, "generation"),
          .command = client::command_from(member_object(from, "command")),
          .json = codec::write(from)};
}

namespace {

ContextEvent event_from(const json::object& from) {
  ContextEvent out{.type = string_in(from, "type"),
                   .text = string_in(from, "text"),
                   .data = {},
                   .name = string_in(from, "name"),
                   .value = string_in(from, "value"),
                   .traceback = string_in(from, "traceback"),
                   .bytes = client::number_in(from, "bytes"),
                   .of = string_in(from, "of"),
                   .stream = string_in(from, "stream"),
                   .raw = codec::from_base64(string_in(from, "base64")).value_or("")};
  for (const auto& [mime, part] : member_object(from, "data")) {
    if (part.is_string()) out.data.emplace(mime, part.get_string());
  }
  return out;
}

}  // namespace

Evaluation evaluation_from(const json::object& from) {
  Evaluation out{.id = string_in(from, "id"),
                 .context = string_in(from, "context"),
                 .state = string_in(from, "state"),
                 .events = client::list_from(from, "events", event_from),
                 .next = string_in(from, "next"),
                 .more = client::bool_in(from, "more"),
                 .interpreter = {},
                 .json = codec::write(from),
                 .exit_code = {},
                 .cwd = string_in(from, "cwd"),
                 .ended = client::bool_in(from, "ended")};
  if (const auto* code = from.if_contains("exit_code"); code != nullptr && code->is_int64())
    out.exit_code = static_cast<std::uint32_t>(client::number_in(from, "exit_code"));
  const json::object& interpreter = member_object(from, "interpreter");
  if (!interpreter.empty()) out.interpreter = client::command_from(interpreter);
  return out;
}

bool has_more(const json::object& from) {
  return string_in(from, "state") == "running" || client::bool_in(from, "more");
}

std::string next_target(const std::string& ref, const std::string& id, const json::object& from) {
  return context_target(ref, id,
                        "/runs/" + string_in(from, "id") + "?wait_s=" +
                            std::to_string(kContextPause) + "&from=" + string_in(from, "next"));
}

std::string follow_target(const std::string& ref, const std::string& id, const std::string& run,
                          const std::string& from) {
  std::string rest =
      "/runs/" + http::encode_segment(run) + "?until=event&wait_s=" + std::to_string(kContextPause);
  if (!from.empty()) rest += "&from=" + http::encode_segment(from);
  return context_target(ref, id, rest);
}

void append_events(json::object& whole, json::object later) {
  json::array events;
  if (auto* earlier = whole.if_contains("events"); earlier != nullptr && earlier->is_array())
    events = std::move(earlier->get_array());
  if (auto* more = later.if_contains("events"); more != nullptr && more->is_array()) {
    for (auto& one : more->get_array()) events.push_back(std::move(one));
  }
  later["events"] = std::move(events);
  whole = std::move(later);
}

namespace {

json::object call(const Client& client, const std::string& method, const std::string& target,
                  const json::object& body = {}) {
  const std::string text = body.empty() ? std::string() : codec::write(body);
  return client::value_or_raise(
      codec::parse_object(client.request(method, target, text), codec::Empty::kIsObject));
}

}  // namespace

json::object call_body(const std::string& code, int wait, const CallOptions& options) {
  json::object body{{"code", code}, {"wait_s", wait}};
  if (options.fork) body["fork"] = true;
  if (!options.input.empty()) body["stdin"] = options.input;
  if (options.timeout_s > 0) body["timeout_s"] = options.timeout_s;
  return body;
}

std::string Evaluation::text(const std::string& type) const {
  std::string out;
  for (const ContextEvent& one : events) {
    if (one.type == type) out += one.text;
  }
  return out;
}

std::string Evaluation::value() const {
  for (const ContextEvent& one : events) {
    if (one.type != "result") continue;
    const auto found = one.data.find("text/plain");
    return found == one.data.end() ? std::string() : found->second;
  }
  return {};
}

Contexts::Contexts(Client client, std::string id_or_name)
    : client_(std::move(client)), ref_(std::move(id_or_name)) {}

ContextInfo Contexts::create(const ContextOptions& options) const {
  return context_from(
      call(client_, "POST", client::sandbox_target(ref_, "/contexts"), context_body(options)));
}

std::vector<ContextInfo> Contexts::list() const {
  const auto all = call(client_, "GET", client::sandbox_target(ref_, "/contexts"));
  return client::list_from(all, "items", context_from);
}

ContextInfo Contexts::get(const std::string& id) const {
  return context_from(call(client_, "GET", context_target(ref_, id)));
}

void Contexts::remove(const std::string& id) const {
  call(client_, "DELETE", context_target(ref_, id));
}

Evaluation Contexts::run(const std::string& id, const std::string& code,
                         const CallOptions& options) const {
  const json::object body = call_body(code, kContextPause, options);
  auto whole = call(client_, "POST", context_target(ref_, id, "/run"), body);
  while (has_more(whole)) append_events(whole, call(client_, "GET", next_target(ref_, id, whole)));
  return evaluation_from(whole);
}

Evaluation Contexts::run(const std::string& id, const std::string& code, const OnEvent& on_event,
                         const CallOptions& options) const {
  const auto begun = begin(id, code, {}, options);
  for (const auto& event : begun.events) on_event(event);
  if (begun.state == "running" || begun.more) return follow(id, begun.id, on_event, begun.next);
  Evaluation out = begun;
  out.events.clear();
  return out;
}

Evaluation Contexts::follow(const std::string& id, const std::string& run, const OnEvent& on_event,
                            const std::string& from) const {
  std::string at = from;
  for (;;) {
    auto piece = evaluation_from(call(client_, "GET", follow_target(ref_, id, run, at)));
    for (const auto& event : piece.events) on_event(event);
    piece.events.clear();
    if (piece.state != "running" && !piece.more) return piece;
    at = piece.next;
  }
}

Evaluation Contexts::begin(const std::string& id, const std::string& code, const std::string& run,
                           const CallOptions& options) const {
  json::object body = call_body(code, 0, options);
  if (!run.empty()) body["id"] = run;
  return evaluation_from(call(client_, "POST", context_target(ref_, id, "/run"), body));
}

Evaluation Contexts::read(const std::string& id, const std::string& run, std::uint32_t wait_s,
                          const std::string& from) const {
  std::string rest = "/runs/" + http::encode_segment(run) + "?wait_s=" + std::to_string(wait_s);
  if (!from.empty()) rest += "&from=" + http::encode_segment(from);
  return evaluation_from(call(client_, "GET", context_target(ref_, id, rest)));
}

void Contexts::interrupt(const std::string& id) const {
  call(client_, "POST", context_target(ref_, id, "/interrupt"));
}

ContextInfo Contexts::restart(const std::string& id) const {
  return context_from(call(client_, "POST", context_target(ref_, id, "/restart")));
}

}  // namespace cay::sdk
