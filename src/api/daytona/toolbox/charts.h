// The charts of a Python program: the lines in which the hook writes them, and the hook itself.
#pragma once
#include <string>
#include <string_view>

#include "codec/json.h"

namespace cay::api::daytona {

// A program that runs another one: argv[1] is the file of the program, which it removes, and the
// arguments of the program follow. Figures that the program shows become lines of the output.
extern const std::string_view kPythonRunner;

// Takes the lines of charts out of the output, and returns their JSON. A line that is no chart
// stays.
codec::json::array take_charts(std::string& output);

}  // namespace cay::api::daytona
