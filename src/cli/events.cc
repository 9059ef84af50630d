// cay events: what happened, and what happens.
#include <memory>
#include <string>

#include "cli/answers.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/patient.h"
#include "cli/render.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr int kPage = 1000;
constexpr int kWaitSeconds = 30;

// "12  2026-11-21T00:00:00.000Z  command.ended  box  c1  exited 3"
std::string line_of(const json::object& event) {
  std::string out =
      text_of(event, "seq") + "  " + text_of(event, "at") + "  " + text_of(event, "type");
  std::string how = text_of(event, "state");
  for (const char* name : {"exit_code", "signal", "by", "reason"}) {
    const std::string value = text_of(event, name);
    if (value.empty()) continue;
    how +=
        (how.empty() ? "" : " ") + (std::string_view(name) == "signal" ? "signal " + value : value);
  }
  for (const std::string& part : {text_of(event, "sandbox"), text_of(event, "command_id"), how}) {
    if (!part.empty()) out += "  " + printable(part);
  }
  return out + "\n";
}

std::string target_of(const EventsArgs& args, const std::string& after, bool wait) {
  std::string out = "/api/v1/events?limit=" + std::to_string(kPage);
  if (!after.empty()) out += "&after=" + http::encode_segment(after);
  if (wait) out += "&wait_s=" + std::to_string(kWaitSeconds);
  if (!args.sandbox.empty()) out += "&sandbox=" + http::encode_segment(args.sandbox);
  for (const auto& type : args.types) out += "&type=" + http::encode_segment(type);
  return out;
}

void show(const json::object& page, bool as_json) {
  if (const auto* gap = page.at("gap").if_object()) {
    if (as_json) {
      print(codec::write(json::object{{"gap", *gap}}) + "\n");
    } else {
      print_error("events " + codec::write(gap->at("from")) + " to " + codec::write(gap->at("to")) +
                  " are no longer kept");
    }
  }
  for (const auto& item : page.at("items").as_array()) {
    print(as_json ? codec::write(item) + "\n" : line_of(item.as_object()));
  }
}

int events_command(Context& at, const EventsArgs& args) {
  std::string after = args.after;
  for (bool first = true;; first = false) {
    // A page without waiting comes first: it shows where "now" is, too.
    const bool wait = args.follow && !first;
    const std::string target = target_of(args, after, wait);
    // The daemon may be restarted meanwhile: events are kept, so nothing is missed.
    const auto page = parsed(wait ? patient_get(at, target, sleeping()).value_or("")
                                  : at.client.request("GET", target));
    show(page, at.json);
    const std::string next = codec::write(page.at("next_after"));
    // A page may end by its bytes, before it has the requested number.
    if (!args.follow && next == codec::write(page.at("last"))) return kOk;
    after = next;
  }
}

}  // namespace

Command events_entry() {
  const auto args = std::make_shared<EventsArgs>();
  return {.name = "events",
          .help = "What happened to sandboxes and commands, in order",
          .examples =
              "  cay events --sandbox box\n"
              "  cay events --follow --after now --json     one JSON object a line, from now on\n"
              "  cay events --after 1200 --type command.ended\n",
          .group = kHostGroup,
          .options =
              [args](Options& to) {
                to.flag("-f,--follow", args->follow, "Go on, and wait for what happens");
                to.text("--after", args->after,
                        "The number of the last event seen, or now (default: all that are kept)");
                to.text("--sandbox", args->sandbox, "Id or name");
                to.texts("--type", args->types,
                         "A type, or its beginning up to a dot: command.; repeatable");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(events_command)};
}

}  // namespace cay::cli
