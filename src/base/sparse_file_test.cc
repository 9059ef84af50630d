#include "base/sparse_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"

namespace cay {
namespace {

struct SparseFileTest : ::testing::Test {
  const testing::TempDir temp;
  const std::string path = temp.path() + "/file";
  const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  SparseFile file{fd.get()};

  std::string content() const {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  struct stat facts() const {
    struct stat out{};
    EXPECT_EQ(::fstat(fd.get(), &out), 0);
    return out;
  }
};

TEST_F(SparseFileTest, EveryCutOfTheSameBytesGivesTheSameFile) {
  std::string all;
  for (const int size : {3, 5000, 1, 20'000, 4096, 10'000, 700}) {
    all += std::string(static_cast<std::size_t>(size), all.size() % 2 == 0 ? 'x' : '\0');
  }
  all += std::string(9000, '\0');
  for (const std::size_t cut :
       {std::size_t{1}, std::size_t{777}, std::size_t{4096}, std::size_t{4097}, all.size()}) {
    ASSERT_EQ(::ftruncate(fd.get(), 0), 0);
    SparseFile again(fd.get());
    for (std::size_t at = 0; at < all.size(); at += cut)
      ASSERT_EQ(again.append(std::string_view(all).substr(at, cut)), 0);
    EXPECT_EQ(again.end(), all.size());
    ASSERT_EQ(again.finish(), 0);
    EXPECT_EQ(content(), all) << cut;
  }
}

// On a file system that has no O_DIRECT all of it goes through the cache.
TEST_F(SparseFileTest, PassingTheCacheByChangesNoByte) {
  constexpr std::size_t kSize = 64 * SparseFile::kBlock;
  const std::unique_ptr<char, void (*)(void*)> memory(
      static_cast<char*>(std::aligned_alloc(SparseFile::kBlock, kSize)), std::free);
  std::string all;
  const auto append = [&](std::size_t from, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      memory.get()[from + i] = static_cast<char>((all.size() + i) * 2654435761U >> 13);
    const std::string_view piece(memory.get() + from, size);
    ASSERT_EQ(file.append(piece), 0);
    all += piece;
  };
  append(0, kSize);
  file.pass_cache_by(true);
  append(0, kSize);
  std::fill_n(memory.get(), kSize, '\0');
  ASSERT_EQ(file.append(std::string_view(memory.get(), kSize)), 0);
  all.append(kSize, '\0');
  append(0, SparseFile::kBlock);
  append(7, 2 * SparseFile::kBlock);  // from an odd address
  file.pass_cache_by(true);
  append(0, 1000);
  append(0, kSize);
  file.pass_cache_by(false);
  append(0, 1);
  ASSERT_EQ(file.finish(), 0);
  EXPECT_TRUE(content() == all);
}

TEST_F(SparseFileTest, ZerosTakeNoDisk) {
  const std::string zeros(1 << 20, '\0');
  for (int i = 0; i < 64; ++i) ASSERT_EQ(file.append(zeros), 0);
  ASSERT_EQ(file.append("end"), 0);
  ASSERT_EQ(file.finish(), 0);
  EXPECT_EQ(facts().st_size, (64 << 20) + 3);
  EXPECT_LE(facts().st_blocks * 512, 64 << 10);
}

TEST_F(SparseFileTest, ZerosReplaceWhatWasWrittenBefore) {
  ASSERT_EQ(file.append(std::string(3 * SparseFile::kBlock, 'x')), 0);
  ASSERT_EQ(file.write_at(SparseFile::kBlock, std::string(4 * SparseFile::kBlock, '\0')), 0);
  ASSERT_EQ(file.finish(), 0);
  EXPECT_EQ(content(),
            std::string(SparseFile::kBlock, 'x') + std::string(4 * SparseFile::kBlock, '\0'));
}

TEST_F(SparseFileTest, AHoleOfATerabyteIsMadeAtOnce) {
  constexpr std::uint64_t kTera = std::uint64_t{1} << 40;
  ASSERT_EQ(file.write_at(kTera, "x"), 0);
  ASSERT_EQ(file.finish(2 * kTera), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(facts().st_size), 2 * kTera);
  EXPECT_LE(facts().st_blocks * 512, 64 << 10);
}

TEST_F(SparseFileTest, FailuresAreTold) {
  EXPECT_EQ(file.write_at(std::numeric_limits<std::uint64_t>::max(), "x"), EFBIG);
  EXPECT_EQ(file.finish(std::numeric_limits<std::uint64_t>::max()), EFBIG);
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  SparseFile nowhere(full.get());
  EXPECT_EQ(nowhere.append("x"), ENOSPC);
}

}  // namespace
}  // namespace cay
