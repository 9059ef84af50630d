// Contexts of Cay's SDK: interpreters in a sandbox that keep their variables between calls.
//
//   cay::Client cay;
//   const cay::sdk::Contexts contexts(cay, "box");
//   const auto made = contexts.create();
//   contexts.run(made.id, "x = 1");
//   std::cout << contexts.run(made.id, "x + 1").value();   // 2
//
// A context of bash is a shell: working directory, variables and jobs live between its calls.
//
//   contexts.create({.id = "main", .language = "bash"});
//   contexts.run("main", "cd /tmp; export NAME=value");
//   const auto got = contexts.run("main", "make", {.timeout_s = 60});
//   std::cout << got.text() << got.exit_code.value_or(0) << got.cwd;
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cay/client.h"

namespace cay::sdk {

struct ContextOptions {
  std::string id;        // 1-64 of [A-Za-z0-9_-]; empty: made by Cay. A known one is found again
  std::string language;  // python, javascript or bash; empty: python
  std::string user, cwd;
  std::map<std::string, std::string> env;  // a restart keeps them
  bool warm = false;                       // a new one is returned when its interpreter evaluates
};

struct ContextInfo {
  std::string id, language, state;  // state: ready, or gone with its variables
  std::uint64_t generation = 1;     // one more with each restart
  CommandInfo command;              // its interpreter
  std::string json;
};

// All of it is a claim of code inside the sandbox.
struct ContextEvent {
  std::string type;  // stdout, stderr, display, result, error, background, gap, unreadable
  std::string text;  // of stdout, stderr and background
  std::map<std::string, std::string> data;  // of display and result, by MIME type
  std::string name, value, traceback;       // of error
  std::uint64_t bytes = 0;                  // of gap and unreadable; of background: dropped ones
  // A job of an earlier call wrote a background event: `of` is that call's id, `stream` its output.
  std::string of, stream;
  std::string raw;  // the exact bytes, if U+FFFD stands for some of them in text. Else empty

  const std::string& exact() const { return raw.empty() ? text : raw; }
};

// Options for a call.
struct CallOptions {
  // Python alone: evaluates in a process that is forked off the warm interpreter. It has the
  // context's variables and modules, and changes none of them. Its end is the evaluation's.
  bool fork = false;
  // Shells alone have these.
  std::string input;     // its stdin; empty: /dev/null
  double timeout_s = 0;  // 0: none. It interrupts, and kills what an interrupt does not end
};

struct Evaluation {
  std::string id, context, state;  // state: running, ok, error, interrupted, timed_out, lost
  std::vector<ContextEvent> events;
  std::string next;                        // to read on from
  bool more = false;                       // there are events behind it already
  std::optional<CommandInfo> interpreter;  // of a lost one: how it ended
  std::string json;
  // A call of a shell that is over has these.
  std::optional<std::uint32_t> exit_code;
  std::string cwd;     // where the shell is
  bool ended = false;  // the shell ended with it

  // The text of all events of one type.
  std::string text(const std::string& type = "stdout") const;
  // The last expression's value as text; empty without one.
  std::string value() const;
};

// `id`: a context's. Everything throws cay::ApiError.
class Contexts {
 public:
  ContextInfo create(const ContextOptions& options = {}) const;
  std::vector<ContextInfo> list() const;
  ContextInfo get(const std::string& id) const;
  void remove(const std::string& id) const;
  // Evaluates and waits for the end. ApiError kNotReady "context_gone".
  Evaluation run(const std::string& id, const std::string& code,
                 const CallOptions& options = {}) const;
  // The same, and calls `on_event` with each event as it comes. The Evaluation has none.
  using OnEvent = std::function<void(const ContextEvent&)>;
  Evaluation run(const std::string& id, const std::string& code, const OnEvent& on_event,
                 const CallOptions& options = {}) const;
  // Reads an evaluation to its end likewise. `from` empty: from its beginning.
  Evaluation follow(const std::string& id, const std::string& run, const OnEvent& on_event,
                    const std::string& from = {}) const;
  // Begins, and does not wait: read() has the rest. `run` empty: a random id.
  Evaluation begin(const std::string& id, const std::string& code, const std::string& run = {},
                   const CallOptions& options = {}) const;
  // Returns what is known of an evaluation, after at most `wait_s`. `from` empty: all of it.
  Evaluation read(const std::string& id, const std::string& run, std::uint32_t wait_s = 0,
                  const std::string& from = {}) const;
  void interrupt(const std::string& id) const;
  ContextInfo restart(const std::string& id) const;

  // The contexts of one sandbox.
  Contexts(Client client, std::string id_or_name);

 private:
  Client client_;
  std::string ref_;
};

}  // namespace cay::sdk
