// The texts of the drivers, as CMake embeds them from src/code/drivers/.
#pragma once
#include <string_view>

namespace cay::code {

extern const std::string_view kJavaScriptDriver;
extern const std::string_view kPythonDriver;

}  // namespace cay::code

// The driver of shells, a program of this machine's architecture (shell/).
extern "C" const char cay_shell_driver[];
extern "C" const char cay_shell_driver_end[];
