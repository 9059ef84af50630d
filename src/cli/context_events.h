// Prints what an evaluation of a context reports.
#pragma once
#include "cay/contexts.h"

namespace cay::cli {

// Output of a background job goes to stderr, whatever it wrote to.
void print_event(const sdk::ContextEvent& event);

}  // namespace cay::cli
