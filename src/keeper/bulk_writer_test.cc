#include "keeper/bulk_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>

#include "base/testing/temp_dir.h"

namespace cay::keeper {
namespace {

// On any file system: one that has no O_DIRECT gets all of it through the cache.
TEST(BulkWriterTest, PiecesOfAnySizeMakeTheSameFile) {
  const cay::testing::TempDir temp;
  const UniqueFd dir = temp.open();
  const std::string shown = "/file";
  auto pending = PendingFile::create(dir.get(), shown);
  ASSERT_TRUE(pending);
  const std::string head = "some bytes that came in frames";
  ASSERT_TRUE(pending->write(head, shown));

  const std::unique_ptr<char, void (*)(void*)> buffer(
      static_cast<char*>(std::aligned_alloc(SparseFile::kBlock, BulkWriter::kMost)), std::free);
  std::minstd_rand random(7);
  std::string all = head;
  std::size_t have = 0;
  BulkWriter writer(*pending, shown);
  while (all.size() < BulkWriter::kCachedFirst + (10 << 20)) {
    const std::size_t fresh = std::min<std::size_t>(
        BulkWriter::kLeast + random() % BulkWriter::kLeast, BulkWriter::kMost - have);
    for (std::size_t i = 0; i < fresh; ++i) buffer.get()[have + i] = static_cast<char>(random());
    all.append(buffer.get() + have, fresh);
    have += fresh;
    const std::size_t whole = writer.whole_blocks(have);
    EXPECT_EQ((pending->end() + whole) % SparseFile::kBlock, 0U);
    EXPECT_LT(have - whole, SparseFile::kBlock);
    ASSERT_TRUE(writer.write(std::string_view(buffer.get(), whole)));
    have -= whole;
    std::memmove(buffer.get(), buffer.get() + whole, have);
  }
  ASSERT_TRUE(writer.write(std::string_view(buffer.get(), have)));
  ASSERT_TRUE(pending->finish(shown));
  ASSERT_TRUE(pending->commit("file", shown));
  std::ifstream in(temp.path() + "/file", std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(content == all);
}

}  // namespace
}  // namespace cay::keeper
