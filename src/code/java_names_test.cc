#include "code/java_names.h"

#include <gtest/gtest.h>

namespace cay::code {
namespace {

std::string names(std::string_view code) {
  const ProgramName got = java_program(code);
  return got.file + " " + got.entry;
}

TEST(JavaNamesTest, ThePublicTypeNamesTheFile) {
  EXPECT_EQ(names("public class Hello { public static void main(String[] a) {} }"),
            "Hello.java Hello");
  EXPECT_EQ(names("public final class Hello{static void main(String[] a){}}"), "Hello.java Hello");
  EXPECT_EQ(names("class Hello { static void main(String[] a) {} }"), "Main.java Hello");
  EXPECT_EQ(names("public record Pair(int a) { static void main(String[] a) {} }"),
            "Pair.java Pair");
}

TEST(JavaNamesTest, TheTypeWithMainIsStarted) {
  EXPECT_EQ(names("class A { void run() {} } class B { static void main(String[] a) {} }"),
            "Main.java B");
  EXPECT_EQ(names("public interface Shape { double area(); }\n"
                  "class B { static void main(String[] a) {} }"),
            "Shape.java B");
  EXPECT_EQ(names("class A { class Inner { void main() {} } } class B {}"), "Main.java A");
}

TEST(JavaNamesTest, APackageIsPartOfTheName) {
  EXPECT_EQ(names("package a.b ;\nimport java.util.*;\npublic class C { void main() {} }"),
            "C.java a.b.C");
}

TEST(JavaNamesTest, CommentsAndStringsAreNoCode) {
  EXPECT_EQ(names("// public class No {}\n/* class No2 { void main() {} } */\n"
                  "class A { String s = \"} class No3 {\"; char c = '\"'; char d = '\\'';\n"
                  "String t = \"\"\"\n } class No4 { \"\"\"; static void main(String[] a) {} }"),
            "Main.java A");
}

TEST(JavaNamesTest, AnythingHasAName) {
  EXPECT_EQ(names(""), "Main.java Main");
  EXPECT_EQ(names("}}}} class"), "Main.java Main");
  EXPECT_EQ(names("\"never ends"), "Main.java Main");
  EXPECT_EQ(names("/* never ends"), "Main.java Main");
  EXPECT_EQ(names("'\\"), "Main.java Main");
}

}  // namespace
}  // namespace cay::code
