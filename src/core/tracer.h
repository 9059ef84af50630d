// Tracer: the spans of creations and commands, for who listens.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "core/ports/journal.h"
#include "model/command.h"
#include "model/principal.h"
#include "model/trace.h"

namespace cay::core {

class Tracer {
 public:
  explicit Tracer(Clock& clock) : clock_(clock) {}

  std::function<void(Span)> sink;

  // A span below the caller's; nullopt: nobody wants one.
  std::optional<Span> begin(const Principal& who, std::string name) const;
  void end(std::optional<Span> span, const Error* error = nullptr) const;

  // For a command that is about to start: its trace context, and what is kept until its end (""
  // without a span).
  struct CommandTrace {
    std::string traceparent;
    std::string kept;
  };
  CommandTrace command(const Principal& who) const;
  // Returns whether it is such a `kept`, and not a text from a keeper.
  static bool is_kept(std::string_view text);
  void command_ended(const Command& command, const OpenCommand& open,
                     const std::string& sandbox) const;

 private:
  bool wanted(const Principal& who) const { return sink && who.trace && who.trace.sampled; }
  Clock& clock_;
};

}  // namespace cay::core
