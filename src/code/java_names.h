// Reads from Java source what javac and java need: the name of the file and of the main class.
#pragma once
#include <string_view>

#include "code/language.h"

namespace cay::code {

// The file has the name of the public type, else Main.java. The entry is the first type at the top
// that declares `main`, with its package: else the public type, else the first type.
ProgramName java_program(std::string_view code);

}  // namespace cay::code
