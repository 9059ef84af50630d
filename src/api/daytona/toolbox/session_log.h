// The output of one command of a session, read from core's contexts.
#pragma once
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
};

// Reads one command's events, piece by piece.
class SessionReader {
 public:
  SessionReader(core::Cay& cay, Box box, std::string session, std::string command);

  // The pieces of output that came since, each of one stream. A piece is a line of Cay's where
  // output is missing.
  struct Piece {
    Stream stream;
    std::string text;
  };
  struct Pieces {
    std::vector<Piece> pieces{};
    bool over = false;  // it ended, and all was read
  };
  // Waits at most so long for more. An empty result is no end. Fails kUnavailable (shutting_down).
  Task<Pieces> next(core::Contexts::Wait wait);
  // Reads the output of its jobs after its end. `over`: all of that so far was read.
  Task<Pieces> next_of_jobs();
  // Once it is over. Absent: it runs. Fails as exit_code_of() (ends.h).
  const Result<std::optional<int>>& exit_code() const { return exit_code_; }

 private:
  Task<Pieces> wait_to_begin(core::Contexts::Wait wait);

  core::Cay& cay_;
  const Box box_;
  const std::string context_;
  const std::string command_;
  std::optional<ContextPlace> place_;
  std::optional<ContextPlace> jobs_place_;
  int missing_ = 0;  // how often the idle shell did not know it
  Result<std::optional<int>> exit_code_;
};

// How far a log is read.
enum class LogPart { kSoFar, kToEnd, kToEndAlone };  // the last without the output of jobs

// Fails UNPROCESSABLE_ENTITY beyond what an answer holds.
Task<SessionLog> read_session_log(SessionReader& reader, AnswerPart part, LogPart until);

// Whether and how the command has ended, without its output. Absent: it runs. Fails as
// exit_code_of() (ends.h).
Task<std::optional<int>> end_of_command(core::Cay& cay, Box box, std::string session,
                                        std::string command);

}  // namespace cay::api::daytona
