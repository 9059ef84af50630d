// Prints what an evaluation of a context reports.
#pragma once
#include <string>

#include "cay/contexts.h"

namespace cay::cli {

// Output of a background job goes to stderr, whatever it wrote to.
void print_event(const sdk::ContextEvent& event);

// How the interpreter of a lost evaluation ended, to put behind "its interpreter".
std::string end_of(const sdk::Evaluation& lost);

}  // namespace cay::cli
