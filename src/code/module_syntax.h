// Distinguishes modules of JavaScript from scripts: Node.js reads modules only from .mjs files.
#pragma once
#include <string_view>

namespace cay::code {

// Returns whether a line of the code begins with an import or export declaration. A line of a
// comment or of a template that looks like one counts too.
bool is_module(std::string_view code);

}  // namespace cay::code
