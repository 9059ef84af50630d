// Language is a row of a table, and describes how to build and run programs of one language. A new
// language needs a row of languages(), and nothing else.
//
// A script has several lines of sh. The directory of the run is $D, and the name of the file $F.
// Java starts the class $E. Libraries lie in $L, which outlives the run. The arguments "$@" are the
// libraries in `install`, and those of the program in `run`.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cay::code {

struct Language {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view suffix;                         // of its files, with the dot
  std::vector<std::string_view> programs;          // each is needed
  std::vector<std::string_view> library_programs;  // needed too, for libraries
  std::string_view packages;                       // of Debian, which have `programs`
  std::string_view library_packages{};
  bool needs_proc = false;     // its packages run it when they are installed: not by --debian
  std::string_view image;      // that has all of them
  std::string_view setup{};    // before each of the scripts below
  std::string_view install{};  // empty: `without_libraries` has the reason
  std::string_view without_libraries{};
  std::string_view compile{};  // empty: there is nothing to compile
  std::string_view run;
  std::string_view prints;  // what a program calls to show a value
};

std::span<const Language> languages();
// By its name or an alias, in any case. Null: there is no such language.
const Language* find_language(std::string_view name);
// By the name of a file. Null: its suffix is of no language.
const Language* language_of_file(std::string_view file);
// By a program's first line, "#!...". Null: it names no language.
const Language* language_of_shebang(std::string_view code);
// "python, java, ...".
std::string language_names();

// A program's file, and what the language starts where that is a name of its own.
struct ProgramName {
  std::string file;
  std::string entry{};
};
// Reads both from the code where a language requires it: Java names the file after the public
// class, and Node.js reads modules from .mjs files.
ProgramName name_program(const Language& language, std::string_view code);

}  // namespace cay::code
