#include "archive/tar_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/unique_fd.h"

namespace cay::archive {
namespace {

using Step = TarReader::Step;

// Gives `bytes` in pieces of `size`.
TarPull pieces(std::string bytes, std::size_t size) {
  return [bytes = std::move(bytes), size]() mutable -> Result<std::string> {
    std::string out = bytes.substr(0, size);
    bytes.erase(0, out.size());
    return out;
  };
}

std::string bytes_of(TarReader& tar) {
  std::string out;
  for (;;) {
    TarReader::Block block;
    const Step got = tar.block(block);
    if (got == Step::kEnd) return out;
    EXPECT_EQ(got, Step::kDone) << tar.why();
    if (got != Step::kDone) return out;
    out += block.bytes;
  }
}

void add_two(TarWriter& tar) {
  ASSERT_TRUE(tar.add({.name = "dir/", .kind = TarEntry::Kind::kDirectory, .mode = 01755}));
  ASSERT_TRUE(tar.add({.name = "dir/\xc3\xa9",
                       .size = 5,
                       .mode = 0640,
                       .uid = 1000,
                       .gid = 1001,
                       .mtime_seconds = 1'700'000'000}));
  ASSERT_EQ(tar.write("hello and too much").value_or(0), 5u) << "the entry takes its size";
  ASSERT_TRUE(tar.add({.name = "link",
                       .kind = TarEntry::Kind::kSymlink,
                       .link_target = "dir",
                       .left_out = "dir/fifo"}));
  ASSERT_TRUE(tar.close());
}

void expect_two(TarReader& tar) {
  ASSERT_EQ(tar.next(), Step::kDone) << tar.why();
  EXPECT_EQ(tar.entry().kind(), TarEntry::Kind::kDirectory);
  EXPECT_EQ(tar.entry().mode(), 01755u);
  // Outside a UTF-8 locale libarchive warns of the name, which is its bytes all the same.
  const Step named = tar.next();
  ASSERT_TRUE(named == Step::kDone || named == Step::kDoneButCharset) << tar.why();
  EXPECT_EQ(tar.entry().name(), "dir/\xc3\xa9");
  EXPECT_EQ(tar.entry().size(), 5);
  EXPECT_EQ(tar.entry().mode(), 0640u);
  EXPECT_EQ(tar.entry().uid(), 1000);
  EXPECT_EQ(tar.entry().gid(), 1001);
  EXPECT_EQ(tar.entry().mtime_seconds(), 1'700'000'000);
  EXPECT_EQ(tar.entry().left_out(), std::nullopt);
  EXPECT_EQ(bytes_of(tar), "hello");
  ASSERT_EQ(tar.next(), Step::kDone) << tar.why();
  EXPECT_EQ(tar.entry().kind(), TarEntry::Kind::kSymlink);
  EXPECT_EQ(tar.entry().link_target(), "dir");
  EXPECT_EQ(tar.entry().left_out(), "dir/fifo");
  EXPECT_EQ(tar.next(), Step::kEnd);
}

TEST(TarWriterTest, AReaderFindsWhatWasWritten) {
  for (const auto blocks : {TarWriter::Blocks::kAsTheyCome, TarWriter::Blocks::kOfTape}) {
    auto tar = TarWriter::into_memory(blocks);
    ASSERT_TRUE(tar) << tar.error().message;
    add_two(**tar);
    const std::string bytes = (*tar)->take();
    EXPECT_EQ((*tar)->size(), 0u);
    for (const std::size_t size : {1u, 511u, 100'000u}) {
      TarReader reader(pieces(bytes, size));
      expect_two(reader);
    }
  }
}

TEST(TarWriterTest, AFileIsCompressed) {
  char path[] = "/tmp/cay-tar-XXXXXX";
  const UniqueFd fd(::mkstemp(path));
  ASSERT_TRUE(fd);
  ::unlink(path);
  auto tar = TarWriter::into_file(fd.get());
  ASSERT_TRUE(tar) << tar.error().message;
  add_two(**tar);
  char magic[4] = {};
  ASSERT_EQ(::pread(fd.get(), magic, sizeof magic, 0), 4);
  EXPECT_EQ(std::string(magic, 4), "\x28\xb5\x2f\xfd") << "zstd's";
  ASSERT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
  TarReader reader(fd.get());
  expect_two(reader);
}

TEST(TarWriterTest, OneThatIsLeftInTheMiddleEndsAtOnce) {
  auto tar = TarWriter::into_memory(TarWriter::Blocks::kAsTheyCome);
  ASSERT_TRUE(tar);
  ASSERT_TRUE((*tar)->add({.name = "big", .size = 1ull << 40, .mode = 0644}));
  ASSERT_EQ((*tar)->write("x").value_or(0), 1u);
  tar->reset();  // and not a terabyte of padding
}

TEST(TarReaderTest, TheInputsFailureIsKept) {
  TarReader tar([]() -> Result<std::string> {
    return Error{Code::kUnavailable, "connection_lost", "gone", 0};
  });
  EXPECT_EQ(tar.next(), Step::kFailed);
  ASSERT_TRUE(tar.input_error());
  EXPECT_EQ(tar.input_error()->reason, "connection_lost");
}

TEST(TarReaderTest, NothingCompressedIsReadFromAStream) {
  TarReader tar(pieces(std::string("\x1f\x8b\x08\x00", 4) + std::string(2000, 'x'), 512));
  EXPECT_EQ(tar.next(), Step::kFailed);
  EXPECT_FALSE(tar.input_error());
}

}  // namespace
}  // namespace cay::archive
