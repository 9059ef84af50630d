// The output of one command of a session, read from core's contexts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/common/collect.h"
#include "api/daytona/toolbox/mux.h"
#include "api/daytona/toolbox/request.h"
#include "core/verbs/contexts.h"

namespace cay::api::daytona {

struct SessionLog {
  std::string output;  // with marks
  std::string out;
  std::string err;
  std::optional<int> exit_code;  // absent while it runs
};

// Reads one command's events, piece by piece.
class SessionReader {
 public:
  SessionReader(core::Cay& cay, Box box, std::string session, std::string command);

  // The pieces of output that came since, each of one stream.
  struct Piece {
    Stream stream;
    std::string text;
  };
  struct Pieces {
    std::vector<Piece> pieces;
    bool over = false;  // it ended, and all was read
  };
  // Waits at most so long for more. An empty result is no end. Fails kUnavailable (shutting_down).
  Task<Pieces> next(core::Contexts::Wait wait);
  // The exit code, once it is over.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  core::Cay& cay_;
  const Box box_;
  const std::string context_;
  const std::string command_;
  std::optional<ContextPlace> place_;
  std::optional<int> exit_code_;
};

// Reads the output so far, or, if `to_end`, everything up to the command's end. Fails
// UNPROCESSABLE_ENTITY beyond what an answer holds.
Task<SessionLog> read_session_log(SessionReader& reader, AnswerPart part, bool to_end);

// Adds what jobs of the command wrote after its end. The shell gives it with the calls after it.
Task<SessionLog> with_output_of_jobs(core::Cay& cay, Box box, std::string session,
                                     std::string command, SessionLog log, AnswerPart part);

// The exit code of an evaluation that is over. Absent: it runs.
std::optional<int> exit_code_of(const Evaluation& evaluation);

}  // namespace cay::api::daytona
