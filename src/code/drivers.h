// The texts of the drivers, as CMake embeds them from src/code/drivers/.
#pragma once
#include <string_view>

namespace cay::code {

extern const std::string_view kJavaScriptDriver;
extern const std::string_view kPythonDriver;

}  // namespace cay::code
