// What the gate refused while a command ran that then failed: pip, npm and apt say of a host that
// the policy refuses that there is no such thing.
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
  // Where it tells of nothing, but of something while the command before it ran, which ended with 0
  // so that nobody was told (apt-get update, whose hosts apt-get install then does not find): when
  // that was.
  std::optional<Window> before;
};
// nullopt: nobody could tell, and soon.
std::optional<Refusals> refusals_of(const sdk::Sandbox& box, const sdk::CommandInfo& command);

}  // namespace cay::cli
