#include "dockerfile/ignore.h"

#include <gtest/gtest.h>

namespace cay::dockerfile {
namespace {

IgnoreList list(std::string_view text) {
  auto out = IgnoreList::parse(text);
  EXPECT_TRUE(out) << text << ": " << (out ? "" : out.error().message);
  return out ? *std::move(out) : IgnoreList();
}

struct IgnoreCase {
  std::string_view rules, path;
  bool ignored;
};

// The behaviour of moby's patternmatcher, case by case.
TEST(IgnoreTest, PatternsMatchAsDockersDo) {
  for (const auto& [rules, path, ignored] : std::initializer_list<IgnoreCase>{
           {"*", "file", true},
           {"*.go", "file.go", true},
           {"*.go", "dir/file.go", false},
           {"!file.go\n*.go", "file.go", true},
           {"*.go\n!file.go", "file.go", false},
           {"docs\n!docs/README.md", "docs/README.md", false},
           {"docs/\n!docs/README.md", "docs/README.md", false},
           {"docs/*\n!docs/README.md", "docs/README.md", false},
           {"docs\n!docs/README.md", "docs/x", true},
           {"**", "dir/file", true},
           {"**/", "file", true},
           {"**/**", "dir/file", true},
           {"dir/**", "dir/dir2/file", true},
           {"dir/**", "dir", false},
           {"abc/**", "abc", false},
           {"**/dir", "dir", true},
           {"**/dir", "dir/file", true},
           {"**/dir", "a/dir/file", true},
           {"**/dir2/*", "dir/dir2/file", true},
           {"**/dir2/**", "dir/dir2/dir3/file", true},
           {"**file", "dir/file", true},
           {"**file", "dir/myfile", true},
           {"**/file", "dir/myfile", false},
           {"**/file*", "dir/dir/file.txt", true},
           {"**/file*txt", "dir/dir/file.txt", true},
           {"**/**/*.txt", "dir/dir/file.txt", true},
           {"**/**/*.txt2", "dir/dir/file.txt", false},
           {"**/*.txt", "file.txt", true},
           {"**/**/*.txt", "file.txt", true},
           {"a**/*.txt", "a/file.txt", true},
           {"a**/*.txt", "a/dir/dir/file.txt", true},
           {"a/*.txt", "a/dir/file.txt", false},
           {"a/*.txt**", "a/file.txt", true},
           {"a[b-d]e", "ace", true},
           {"a[b-d]e", "aae", false},
           {"a[^b-d]e", "aze", true},
           {"ab[^c]", "abc", false},
           {".*", ".foo", true},
           {".*", "foo", false},
           {"abc.def", "abcZdef", false},
           {"abc?def", "abcZdef", true},
           {"abc?def", "abc/def", false},
           {"**/foo/bar", "foo/bar", true},
           {"**/foo/bar", "dir/dir2/foo/bar", true},
           {"**/foo/bar", "dirfoo/bar", false},
           {"**/.foo", "bar.foo", false},
           {"a(b)c/def", "a(b)c/def", true},
           {"a.|)$(}+{bc", "a.|)$(}+{bc", true},
           {"dist/*.whl", "dist/p-2.4.0+g08-py3.whl", true},
           {"**\n!util/docker/web", "util/docker/web/foo", false},
           {"**\n!util/docker/web\nutil/docker/web/foo", "util/docker/web/foo", true},
           {"a*/b", "abc/b", true},
           {"a*/b", "a/c/b", false},
           {"a*", "ab/c", true},
           {"a*b*c*d*e*/f", "axbxcxdxexxx/f", true},
           {"a*b?c*x", "abxbbxdbxebxczzy", false},
           {"a\\*b", "a*b", true},
           {"a\\*b", "ab", false},
           {"a?b", "a☺b", true},
           {"a???b", "a☺b", false},
           {"[a-ζ]*", "α", true},
           {"[\\]a]", "]", true},
           {"[x\\-]", "-", true},
           {"*x", "xxx", true},
           {"/foo", "foo", true},
           {"./foo", "foo", true},
           {"foo/../bar", "bar", true},
           {"  foo  ", "foo", true},
           {"# foo\n#bar\nx", "#bar", false},
           {" # foo", "# foo", true},
           {"! foo\nbar", "bar", true},
           {"*\n! keep", "keep", false},
           {"foo\r\nbar\r\n", "bar", true},
           {"\xef\xbb\xbf"
            "foo",
            "foo", true},
           {"**/node_modules\n**/*.log", "web/node_modules/x/index.js", true},
           {"*\n!src/**\n!package.json", "src/a/b.js", false},
           {"*\n!src/**\n!package.json", "README.md", true},
           {"*", ".", false},
           {"", "any/path", false}}) {
    EXPECT_EQ(list(rules).ignores(path), ignored) << rules << " with " << path;
  }
}

TEST(IgnoreTest, BadPatternsAreNamedWithTheirLine) {
  for (const std::string_view bad :
       {"!", "[", "a[", "[^", "[^bc", "[]a]", "[-]", "[x-]", "[-x]", "[a-b-c]", "*\\"}) {
    const auto out = IgnoreList::parse("ok\n" + std::string(bad));
    ASSERT_FALSE(out) << bad;
    EXPECT_EQ(out.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(out.error().message.starts_with("line 2: ")) << out.error().message;
  }
}

TEST(IgnoreTest, ADirectoryIsSkippedWhereNothingInItIsKept) {
  const auto rules = list("node_modules\ndocs\n!docs/public/*.md");
  EXPECT_TRUE(rules.ignores("node_modules"));
  EXPECT_FALSE(rules.may_keep_below("node_modules"));
  EXPECT_TRUE(rules.may_keep_below("docs"));
  EXPECT_TRUE(rules.may_keep_below("docs/public"));
  EXPECT_FALSE(rules.may_keep_below("docs/private"));
  EXPECT_TRUE(list("*\n!**/keep").may_keep_below("a/b"));
}

TEST(IgnoreTest, ALongPatternTakesNoExponentialTime) {
  std::string pattern, path;
  for (int i = 0; i < 500; ++i) pattern += "*a";
  pattern += "b[x]";
  path.assign(2000, 'a');
  EXPECT_FALSE(list(pattern).ignores(path));
}

}  // namespace
}  // namespace cay::dockerfile
