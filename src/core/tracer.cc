#include "core/tracer.h"

namespace cay::core {

std::optional<Span> Tracer::begin(const Principal& who, std::string name) const {
  if (!wanted(who)) return std::nullopt;
  Span span;
  span.trace = child_of(who.trace);
  span.parent_id = who.trace.span_id;
  span.name = std::move(name);
  span.begin = clock_.wall();
  return span;
}

void Tracer::end(std::optional<Span> span, const Error* error) const {
  if (!span || !sink) return;
  span->end = clock_.wall();
  if (error != nullptr) span->error = error->message;
  sink(*std::move(span));
}

Tracer::CommandTrace Tracer::command(const Principal& who) const {
  if (!who.trace) return {};
  if (!wanted(who)) return {traceparent(who.trace), ""};
  const std::string own = traceparent(child_of(who.trace));
  return {own, own + " " + who.trace.span_id};
}

bool Tracer::is_kept(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return false;
  const auto own = parse_traceparent(text.substr(0, blank));
  // The same once more with the span above: then that is one, too.
  return own && traceparent(*own) == text.substr(0, blank) &&
         text.size() == blank + 1 + own->span_id.size() &&
         parse_traceparent("00-" + own->trace_id + "-" + std::string(text.substr(blank + 1)) +
                           "-01");
}

void Tracer::command_ended(const Command& command, const OpenCommand& open,
                           const std::string& sandbox) const {
  const auto blank = open.trace.find(' ');
  if (!sink || blank == std::string::npos) return;
  const auto own = parse_traceparent(std::string_view(open.trace).substr(0, blank));
  if (!own) return;
  const CommandEnd& end = command.end;
  Span span;
  span.trace = *own;
  span.parent_id = open.trace.substr(blank + 1);
  span.name = "command";
  span.begin = open.started_at;
  span.end = end.ended_at != 0 ? end.ended_at : clock_.wall();
  span.attributes = {{"cay.sandbox.id", open.sandbox_id.get()},
                     {"cay.sandbox.name", sandbox},
                     {"cay.command.id", command.id.get()},
                     {"cay.command.state", std::string(to_string(end.state))}};
  if (end.state == CommandState::kExited) {
    span.attributes["process.exit.code"] = std::to_string(end.exit_code);
  } else {
    span.error = end.reason.empty() ? std::string(to_string(end.state)) : end.reason;
  }
  sink(std::move(span));
}

}  // namespace cay::core
