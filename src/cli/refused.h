// Refusals of the gate while a command ran that then failed. They are worth a line, because many
// programs report a refused host as one that does not exist.
#pragma once
#include <optional>
#include <string>

#include "cay/client.h"
#include "codec/json.h"

namespace cay::cli {

// Each host and port once, the latest last, no more than 32:
// {"host", "port", "reason", "rule", "needs", "preset"}. `report` is of GET …/network; `since`: as
// that writes times.
codec::json::array refused_since(const codec::json::object& report, const std::string& since);

struct Window {
  std::string since{}, until{};  // as that writes times; empty: whenever
};
struct WhereItRan {
  std::string name;      // as a person calls the sandbox
  bool removed = false;  // with its command: nothing can be added to its policy any more
};
// For people, three lines at most, without a line end; empty: nothing was refused. `when`: it was,
// as the sentence begins.
std::string refusal_note(const codec::json::object& report, const Window& window,
                         const WhereItRan& where, const char* when = "meanwhile");

struct Refusals {
  codec::json::object report;  // all that was refused before the command ended is in it
  // Set if nothing was refused while this command ran, but something was while the command before
  // it ran. That one ended with 0, so its refusals were not shown: `apt-get update` before an
  // `apt-get install` that then finds no host.
  std::optional<Window> before;
};
// Returns nullopt if the daemon does not answer soon.
std::optional<Refusals> refusals_of(const sdk::Sandbox& box, const sdk::CommandInfo& command);

}  // namespace cay::cli
