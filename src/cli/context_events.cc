#include "cli/context_events.h"

#include <unistd.h>

#include <string>

#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

// A value as text, with a note of its other parts.
void print_parts(const sdk::ContextEvent& event) {
  for (const auto& [mime, part] : event.data) {
    if (mime == "text/plain") {
      print(part + "\n");
    } else {
      print_error("it has a part " + printable(mime) + " of " + std::to_string(part.size()) +
                  " bytes: --json has it");
    }
  }
}

}  // namespace

void print_event(const sdk::ContextEvent& event) {
  if (event.type == "stdout") print(event.exact());
  if (event.type == "stderr") static_cast<void>(write_all(STDERR_FILENO, event.exact()));
  if (event.type == "display" || event.type == "result") print_parts(event);
  if (event.type == "error") {
    const std::string text =
        event.traceback.empty() ? event.name + ": " + event.value + "\n" : event.traceback;
    static_cast<void>(write_all(STDERR_FILENO, text));
  }
  if (event.type == "background") {
    if (event.bytes > 0)
      print_error(std::to_string(event.bytes) + " bytes of background jobs were dropped here");
    if (!event.text.empty()) print_error("a background job of an earlier call wrote:");
    static_cast<void>(write_all(STDERR_FILENO, event.exact()));
  }
  if (event.type == "gap")
    print_error("the spool dropped " + std::to_string(event.bytes) + " bytes of events here");
}

std::string end_of(const sdk::Evaluation& lost) {
  const std::string how = lost.interpreter ? end_sentence(*lost.interpreter) : std::string();
  return "ended first" + (how.empty() ? how : " (" + how + ")");
}

}  // namespace cay::cli
