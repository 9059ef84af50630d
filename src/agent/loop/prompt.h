// Prompt: the whole system prompt of a thread.
#pragma once
#include <string>
#include <vector>

#include "agent/loop/harness.h"

namespace cay::agent {

// Sets Harness::system_prompt. First comes `own`, then the place of work, the answer's schema,
// skills and memory. Skills and memory are read once in a thread: the log keeps them.
Task<void> make_prompt(Harness* harness, std::string own, std::vector<std::string> skills,
                       std::vector<std::string> memory);

}  // namespace cay::agent
