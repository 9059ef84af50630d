// The digest of a tree is that of a copy, and of nothing that differs from it.
#include "archive/tree_digest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "archive/tree_file.h"
#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"

namespace cay::archive {
namespace {

namespace fs = std::filesystem;
using cay::testing::TempDir;

void fill(const std::string& at) {
  fs::create_directories(at + "/a/b");
  std::ofstream(at + "/a/file") << std::string(300'000, 'x');
  fs::create_hard_link(at + "/a/file", at + "/a/again");
  fs::create_symlink("file", at + "/a/link");
  std::ofstream(at + "/empty") << "";
  ::chmod((at + "/a/file").c_str(), 0640);
}

std::string digest_of(const std::string& at) {
  const UniqueFd dir(::open(at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto got = tree_digest(dir.get());
  EXPECT_TRUE(got) << got.error().message;
  return std::move(got).value_or("");
}

TEST(TreeDigestTest, ACopyByTheArchiveHasTheSame) {
  const TempDir temp;
  const std::string from = temp.path() + "/from", to = temp.path() + "/to";
  fs::create_directory(from);
  fs::create_directory(to);
  fill(from);
  const std::string file = temp.path() + "/tar";
  {
    const UniqueFd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const UniqueFd dir(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    auto writer = TreeWriter::create(out.get());
    ASSERT_TRUE(writer && writer->add_tree(dir.get(), "tree") && writer->close());
  }
  const UniqueFd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd dir(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto place = [&](const std::string& name) -> Result<TarPlace> {
    return TarPlace{dir.get(), "to", name.size() > 5 ? name.substr(5) : "", -1};
  };
  const auto small = [](const std::string&, const std::string&) { return Result<void>(); };
  ASSERT_TRUE(extract_tar(in.get(), place, small));
  EXPECT_EQ(digest_of(to), digest_of(from));
  EXPECT_EQ(digest_of(from).size(), 64U);
}

TEST(TreeDigestTest, EachDifferenceCounts) {
  using Change = std::function<void(const std::string&)>;
  const std::vector<Change> changes{
      [](const std::string&) {},
      [](const std::string& at) { std::ofstream(at + "/a/file") << std::string(300'000, 'y'); },
      [](const std::string& at) { std::ofstream(at + "/empty") << "1"; },
      [](const std::string& at) { fs::rename(at + "/empty", at + "/other"); },
      [](const std::string& at) { ::chmod((at + "/a/b").c_str(), 0700); },
      [](const std::string& at) { ::setxattr((at + "/a").c_str(), "user.k", "v", 1, 0); },
      [](const std::string& at) { ::setxattr((at + "/a").c_str(), "user.k", "w", 1, 0); },
      [](const std::string& at) {
        fs::remove(at + "/a/link");
        fs::create_symlink("b", at + "/a/link");
      },
      [](const std::string& at) {
        fs::remove(at + "/a/again");
        fs::copy_file(at + "/a/file", at + "/a/again");
      }};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const TempDir temp;
    ::chmod(temp.path().c_str(), 0755);
    fill(temp.path());
    changes[i](temp.path());
    EXPECT_TRUE(seen.insert(digest_of(temp.path())).second) << i;
  }
}

}  // namespace
}  // namespace cay::archive
