// The questions of the gate about one sandbox, and their answers (wire/network_questions.h). The
// gate talks with hostile peers. So the length and form of its file are checked as those of a
// keeper's file are.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "async/task.h"
#include "core/ports/runtime.h"
#include "model/ids.h"
#include "model/network.h"

namespace cay::runtime {

// The open ones, the oldest first. No file: there are none. kLost (decisions_damaged).
Result<std::vector<NetworkQuestion>> read_questions(const std::string& data, const SandboxId& id,
                                                    UnixMillis now);

// Returns once the gate goes by the answer. Fails:
// - kNotFound (question_not_found): it is not open any more.
// - kUnavailable (policy_not_in_force): it is not certain that the gate has the answer.
Task<void> write_answer(asio::any_io_executor loop, std::string data, SandboxId id,
                        std::string question, bool allowed);

// QuestionFiles: core's port over those files.
class QuestionFiles : public virtual core::DestinationQuestions {
 public:
  // `data`: the data directory.
  QuestionFiles(asio::any_io_executor loop, std::string data)
      : loop_of_questions_(std::move(loop)), data_of_questions_(std::move(data)) {}

  Task<std::vector<NetworkQuestion>> questions(SandboxId id) override;
  Task<void> answer_question(SandboxId id, std::string question, bool allowed) override;

 private:
  asio::any_io_executor loop_of_questions_;
  std::string data_of_questions_;
};

}  // namespace cay::runtime
