#include "code/language.h"

#include <gtest/gtest.h>

#include <set>

namespace cay::code {
namespace {

TEST(LanguageTest, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Language& language : languages()) {
    EXPECT_TRUE(names.insert(language.name).second) << language.name;
    EXPECT_EQ(find_language(language.name), &language);
    for (const auto alias : language.aliases) {
      EXPECT_TRUE(names.insert(alias).second) << alias;
      EXPECT_EQ(find_language(alias), &language);
    }
  }
}

// Each row can be carried out: it runs something, and either installs libraries or has a reason.
TEST(LanguageTest, EachRowIsWhole) {
  for (const Language& language : languages()) {
    EXPECT_FALSE(language.run.empty()) << language.name;
    EXPECT_FALSE(language.programs.empty()) << language.name;
    EXPECT_FALSE(language.packages.empty()) << language.name;
    EXPECT_FALSE(language.image.empty()) << language.name;
    EXPECT_FALSE(language.prints.empty()) << language.name;
    EXPECT_NE(language.install.empty(), language.without_libraries.empty()) << language.name;
    EXPECT_TRUE(language.library_programs.empty() || !language.library_packages.empty());
  }
}

TEST(LanguageTest, NamesAreFoundInAnyCase) {
  EXPECT_EQ(find_language("C++")->name, "cpp");
  EXPECT_EQ(find_language("JavaScript")->name, "javascript");
  EXPECT_EQ(find_language("cobol"), nullptr);
  EXPECT_EQ(find_language(""), nullptr);
}

TEST(LanguageTest, AFilesSuffixNamesItsLanguage) {
  EXPECT_EQ(language_of_file("/a.d/b.py")->name, "python");
  EXPECT_EQ(language_of_file("x.MJS")->name, "javascript");
  EXPECT_EQ(language_of_file("x.cc")->name, "cpp");
  EXPECT_EQ(language_of_file("x.r")->name, "r");
  EXPECT_EQ(language_of_file("py"), nullptr);
  EXPECT_EQ(language_of_file("/a.py/b"), nullptr);
}

TEST(LanguageTest, TheFirstLineNamesALanguage) {
  EXPECT_EQ(language_of_shebang("#!/usr/bin/env python3\nprint(1)")->name, "python");
  EXPECT_EQ(language_of_shebang("#!/usr/bin/env -S node --use-strict\n")->name, "javascript");
  EXPECT_EQ(language_of_shebang("#!/usr/bin/python3.12")->name, "python");
  EXPECT_EQ(language_of_shebang("#! /bin/sh -e\r\ntrue")->name, "bash");
  EXPECT_EQ(language_of_shebang("#!"), nullptr);
  EXPECT_EQ(language_of_shebang("#!/usr/bin/env\n"), nullptr);
  EXPECT_EQ(language_of_shebang("#!/usr/bin/perl"), nullptr);
  EXPECT_EQ(language_of_shebang("print(1)"), nullptr);
}

TEST(LanguageTest, ModulesOfJavaScriptAreTold) {
  const Language& javascript = *find_language("javascript");
  const auto file = [&](std::string_view code) { return name_program(javascript, code).file; };
  EXPECT_EQ(file("console.log(1)"), "main.js");
  EXPECT_EQ(file("const fs = require('fs')"), "main.js");
  EXPECT_EQ(file("import('fs').then(console.log)"), "main.js");
  EXPECT_EQ(file("important()\nexported = 1"), "main.js");
  EXPECT_EQ(file("// a comment\n  import fs from 'fs'"), "main.mjs");
  EXPECT_EQ(file("import{readFileSync}from'fs'"), "main.mjs");
  EXPECT_EQ(file("import 'fs'"), "main.mjs");
  EXPECT_EQ(file("1\nexport default 1"), "main.mjs");
}

}  // namespace
}  // namespace cay::code
