// The verbs on contexts.
#include "cay/contexts.h"

#include "client/connection.h"
#include "client/errors.h"
#include "client/json_read.h"

namespace cay::sdk {
namespace {

using client::string_in;
namespace json = boost::json;

constexpr int kPause = 30;  // seconds that one request waits for an end

std::string context_target(const std::string& ref, const std::string& id,
                           const std::string& rest = {}) {
  return client::sandbox_target(ref, "/contexts/" + http::encode_segment(id) + rest);
}

const json::object& member_object(const json::object& from, std::string_view name) {
  static const json::object kNone;
  const auto* found = from.if_contains(name);
  return found != nullptr && found->is_object() ? found->get_object() : kNone;
}

ContextInfo context_from(const json::object& from) {
  return {.id = string_in(from, "id"),
          .language = string_in(from, "language"),
          .state = string_in(from, "state"),
          .generation = client::number_in(from, "generation"),
          .command = client::command_from(member_object(from, "command")),
          .json = codec::write(from)};
}

ContextEvent event_from(const json::object& from) {
  ContextEvent out{.type = string_in(from, "type"),
                   .text = string_in(from, "text"),
                   .data = {},
                   .name = string_in(from, "name"),
                   .value = string_in(from, "value"),
                   .traceback = string_in(from, "traceback"),
                   .bytes = client::number_in(from, "bytes")};
  for (const auto& [mime, part] : member_object(from, "data")) {
    if (part.is_string()) out.data.emplace(mime, part.get_string());
  }
  return out;
}

Evaluation evaluation_from(const json::object& from) {
  Evaluation out{.id = string_in(from, "id"),
                 .context = string_in(from, "context"),
                 .state = string_in(from, "state"),
                 .events = client::list_from(from, "events", event_from),
                 .next = string_in(from, "next"),
                 .more = client::bool_in(from, "more"),
                 .interpreter = {},
                 .json = codec::write(from)};
  const json::object& interpreter = member_object(from, "interpreter");
  if (!interpreter.empty()) out.interpreter = client::command_from(interpreter);
  return out;
}

// Puts a later answer of an evaluation behind an earlier one.
void append(json::object& whole, json::object later) {
  json::array events;
  if (auto* earlier = whole.if_contains("events"); earlier != nullptr && earlier->is_array())
    events = std::move(earlier->get_array());
  if (auto* more = later.if_contains("events"); more != nullptr && more->is_array()) {
    for (auto& one : more->get_array()) events.push_back(std::move(one));
  }
  later["events"] = std::move(events);
  whole = std::move(later);
}

json::object call(const Client& client, const std::string& method, const std::string& target,
                  const json::object& body = {}) {
  const std::string text = body.empty() ? std::string() : codec::write(body);
  return client::value_or_raise(
      codec::parse_object(client.request(method, target, text), codec::Empty::kIsObject));
}

}  // namespace

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
  return context_from(call(client_, "POST", client::sandbox_target(ref_, "/contexts"), body));
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

Evaluation Contexts::run(const std::string& id, const std::string& code) const {
  const json::object body{{"code", code}, {"wait_s", kPause}};
  auto whole = call(client_, "POST", context_target(ref_, id, "/run"), body);
  while (string_in(whole, "state") == "running" || client::bool_in(whole, "more")) {
    const std::string rest = "/runs/" + string_in(whole, "id") +
                             "?wait_s=" + std::to_string(kPause) +
                             "&from=" + string_in(whole, "next");
    append(whole, call(client_, "GET", context_target(ref_, id, rest)));
  }
  return evaluation_from(whole);
}

Evaluation Contexts::run(const std::string& id, const std::string& code,
                         const OnEvent& on_event) const {
  const auto begun = begin(id, code);
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
    std::string rest =
        "/runs/" + http::encode_segment(run) + "?until=event&wait_s=" + std::to_string(kPause);
    if (!at.empty()) rest += "&from=" + http::encode_segment(at);
    auto piece = evaluation_from(call(client_, "GET", context_target(ref_, id, rest)));
    for (const auto& event : piece.events) on_event(event);
    piece.events.clear();
    if (piece.state != "running" && !piece.more) return piece;
    at = piece.next;
  }
}

Evaluation Contexts::begin(const std::string& id, const std::string& code,
                           const std::string& run) const {
  json::object body{{"code", code}, {"wait_s", 0}};
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
