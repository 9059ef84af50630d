#include "api/common/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "api/common/source.h"
#include "async/event.h"
#include "codec/left_out.h"
#include "core/ports/runtime.h"
#include "core/testing/fake_files.h"
#include "core/testing/run.h"

namespace cay::api {
namespace {

using core::testing::bytes_source;
using core::testing::tree_source;

core::TreeEvent entry(std::string path, FileKind kind, std::uint64_t size = 0,
                      std::string target = {}) {
  FileInfo info;
  info.path = std::move(path);
  info.kind = kind;
  info.size = size;
  info.mode = 0644;
  info.mtime_ns = 1'700'000'000'000'000'000;
  info.target = std::move(target);
  return core::TreeEntry{info};
}

// An entry of an archive that tar_of would not write.
struct Member {
  std::string name;
  unsigned type = AE_IFREG;
  std::string link{};  // a symbolic link's target; of anything else, what it is a hard link to
  std::uint64_t size = 0;
  bool sparse = false;
};

la_ssize_t append(::archive* /*tar*/, void* out, const void* bytes, std::size_t size) {
  static_cast<Bytes*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

Bytes archive_of(const std::vector<Member>& members,
                 int (*format)(::archive*) = archive_write_set_format_pax_restricted) {
  Bytes out;
  auto* tar = archive_write_new();
  format(tar);
  archive_write_set_bytes_per_block(tar, 0);
  EXPECT_EQ(archive_write_open(tar, &out, nullptr, &append, nullptr), ARCHIVE_OK);
  for (const auto& member : members) {
    auto* entry = archive_entry_new();
    archive_entry_copy_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.type);
    if (member.type == AE_IFLNK) {
      archive_entry_copy_symlink(entry, member.link.c_str());
    } else if (!member.link.empty()) {
      archive_entry_copy_hardlink(entry, member.link.c_str());
    }
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.size));
    if (member.sparse) archive_entry_sparse_add_entry(entry, 0, 1);
    EXPECT_EQ(archive_write_header(tar, entry), ARCHIVE_OK) << archive_error_string(tar);
    const Bytes body(member.size, 'b');
    archive_write_data(tar, body.data(), body.size());
    archive_entry_free(entry);
  }
  archive_write_close(tar);
  archive_write_free(tar);
  return out;
}

// Changes a byte of a header block, and its checksum, so that the change reaches what reads the
// fields.
void damage(Bytes& tar, std::size_t at, char value) {
  const std::size_t block = at / 512 * 512;
  tar[at] = value;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 512; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(tar[block + i]);
  std::string octal(6, '0');
  for (std::size_t i = 6; i-- > 0; sum >>= 3) octal[i] = static_cast<char>('0' + (sum & 7));
  tar.replace(block + 148, 8, octal + std::string("\0 ", 2));
}

class TarTest : public ::testing::Test {
 protected:
  Result<Bytes> pack(std::vector<core::TreeEvent> events) {
    return core::testing::run(loop,
                              read_all(tar_of(tree_source(std::move(events)), "file"), 1 << 28));
  }
  // Paths with contents or targets, in order.
  Result<std::vector<std::pair<std::string, std::string>>> unpack(Bytes tar, TarLimits limits = {},
                                                                  std::size_t chunk = 7000) {
    auto tree = tree_of_tar(bytes_source(std::move(tar), chunk), limits);
    std::vector<std::pair<std::string, std::string>> out;
    for (;;) {
      auto event = core::testing::run(loop, tree->next());
      if (!event) return std::move(event).error();
      if (!*event) return out;
      if (auto* found = std::get_if<core::TreeEntry>(&**event)) {
        out.emplace_back(found->info.path, found->info.target);
      } else {
        out.back().second += std::get<Bytes>(**event);
      }
    }
  }
  std::string reason(Bytes tar, TarLimits limits = {}) {
    auto got = unpack(std::move(tar), limits);
    return got ? "" : got.error().reason;
  }
  asio::io_context loop;
};

TEST_F(TarTest, ThereAndBackWithLongNamesAndAnyChunks) {
  const std::string deep = std::string(150, 'd') + "/" + std::string(200, 'f');
  const std::string link(150, 'l');
  auto tar =
      pack({entry("", FileKind::kDirectory), entry("a", FileKind::kFile, 3), Bytes("abc"),
            entry("empty", FileKind::kFile), entry(deep, FileKind::kFile, 600), Bytes(600, 'x'),
            entry("ln", FileKind::kSymlink, 0, link), entry("sock", FileKind::kOther)});
  ASSERT_TRUE(tar);
  for (const std::size_t chunk : {1u, 511u, 512u, 513u, 100'000u}) {
    auto got = unpack(*tar, {}, chunk);
    ASSERT_TRUE(got) << got.error().message;
    const std::vector<std::pair<std::string, std::string>> want{
        {"", ""},     {"a", "abc"}, {"empty", ""}, {deep, std::string(600, 'x')},
        {"ln", link}, {"", ""}};  // the root once more, which names the socket
    EXPECT_EQ(*got, want);
  }
}

// Paths by the attribute that names what is left out.
std::vector<std::string> left_out_of(const Bytes& tar) {
  std::vector<std::string> out;
  auto* reader = archive_read_new();
  archive_read_support_format_tar(reader);
  EXPECT_EQ(archive_read_open_memory(reader, tar.data(), tar.size()), ARCHIVE_OK);
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    archive_entry_xattr_reset(entry);
    while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
      EXPECT_EQ(std::string(name), codec::kLeftOutAttribute);
      EXPECT_EQ(std::string(archive_entry_pathname(entry)), "./");
      EXPECT_EQ(archive_entry_perm(entry), 0644u) << "the root's own";
      out.emplace_back(static_cast<const char*>(value), size);
    }
  }
  archive_read_free(reader);
  return out;
}

TEST_F(TarTest, WhatIsLeftOutIsNamedAndNothingElseIs) {
  const std::string deep(3000, 'd'), odd = "no\xff\ntext=\"";
  auto tar = pack({entry("", FileKind::kDirectory), entry("sock", FileKind::kOther),
                   entry("a", FileKind::kFile, 1), Bytes("a"), entry(deep, FileKind::kOther),
                   entry(odd, FileKind::kOther)});
  ASSERT_TRUE(tar);
  EXPECT_EQ(left_out_of(*tar), (std::vector<std::string>{"sock", deep, odd}));
  EXPECT_EQ(tar->find("LIBARCHIVE"), Bytes::npos) << "a keyword that GNU tar would warn of";
  auto whole = pack({entry("", FileKind::kDirectory), entry("a", FileKind::kFile, 1), Bytes("a")});
  EXPECT_TRUE(left_out_of(*whole).empty());
  EXPECT_EQ(whole->find("xattr"), Bytes::npos);
}

TEST_F(TarTest, ASingleFileHasItsBaseName) {
  auto tar = pack({entry("", FileKind::kFile, 2), Bytes("hi")});
  ASSERT_TRUE(tar);
  EXPECT_EQ(unpack(*tar)->at(0), (std::pair<std::string, std::string>{"file", "hi"}));
}

TEST_F(TarTest, AFileThatShrinksBreaksTheStream) {
  auto tar = pack({entry("a", FileKind::kFile, 10), Bytes("abc"), entry("b", FileKind::kFile)});
  ASSERT_FALSE(tar);
  EXPECT_EQ(tar.error().reason, "file_changed");
}

TEST_F(TarTest, NamesAreTheBytesTheyAre) {
  const std::string composed = "\u00e9", decomposed = "e\u0301", latin1 = "\xe9\xff";
  const std::string tail(120, 't');  // too long for a header without pax
  std::vector<core::TreeEvent> events;
  std::vector<std::pair<std::string, std::string>> want;
  const std::vector<std::string> names{composed,    decomposed,  latin1,
                                       "tab\there", "new\nline", "back\\slash"};
  for (const auto& name : names) {
    for (const auto& path : {name, name + "/" + tail, tail + name}) {
      events.push_back(entry(path, FileKind::kSymlink, 0, path + "?"));
      want.emplace_back(path, path + "?");
    }
  }
  auto tar = pack(std::move(events));
  ASSERT_TRUE(tar);
  auto got = unpack(*tar);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, want);
  // Names in UTF-8 need no keyword that GNU tar would warn of.
  auto plain = pack({entry(composed, FileKind::kFile), entry(decomposed + tail, FileKind::kFile)});
  EXPECT_EQ(plain->find("hdrcharset"), Bytes::npos);
}

TEST_F(TarTest, FactsGoAlong) {
  auto in = entry("", FileKind::kDirectory);
  auto& info = std::get<core::TreeEntry>(in).info;
  info.path = "d";
  info.mode = 02751;
  info.uid = 4'000'000'000;  // beyond a ustar header
  info.gid = 1234;
  auto tar = pack({in});
  ASSERT_TRUE(tar);
  auto tree = tree_of_tar(bytes_source(*tar));
  auto event = core::testing::run(loop, tree->next());
  ASSERT_TRUE(event && *event);
  const FileInfo out = std::get<core::TreeEntry>(**event).info;
  EXPECT_EQ(out.kind, FileKind::kDirectory);
  EXPECT_EQ(out.mode, 0751u);
  EXPECT_EQ(out.uid, 4'000'000'000u);
  EXPECT_EQ(out.gid, 1234u);
  EXPECT_EQ(out.mtime_ns, 1'700'000'000'000'000'000);
}

TEST_F(TarTest, UnsafeEntriesAreRefused) {
  for (const auto* name : {"/etc/passwd", "../x", "a/../../x", "a/.."}) {
    EXPECT_EQ(reason(archive_of({{.name = name}})), "unsafe_path") << name;
  }
  EXPECT_EQ(reason(archive_of({{.name = "x", .link = "y"}})), "unsupported_entry");
  EXPECT_EQ(reason(archive_of({{.name = "x", .size = 100'000, .sparse = true}})),
            "unsupported_entry");
  for (const unsigned type : {AE_IFIFO, AE_IFCHR, AE_IFBLK}) {
    EXPECT_EQ(reason(archive_of({{.name = "x", .type = type}})), "unsupported_entry") << type;
  }
  EXPECT_EQ(reason(archive_of({{.name = "x", .type = AE_IFLNK}})), "unsafe_path");
  EXPECT_EQ(reason(archive_of({{.name = "long"}}), {.path_bytes = 3}), "unsafe_path");
  EXPECT_EQ(unpack(archive_of({{.name = "./a//b/./c/", .type = AE_IFDIR}}))->at(0).first, "a/b/c");
}

TEST_F(TarTest, NoArchiveMakesASetIdProgram) {
  std::vector<core::TreeEvent> events;
  for (const auto kind : {FileKind::kFile, FileKind::kDirectory, FileKind::kSymlink}) {
    auto one =
        entry("e" + std::to_string(events.size()), kind, 0, kind == FileKind::kSymlink ? "to" : "");
    std::get<core::TreeEntry>(one).info.mode = 07755;
    events.push_back(std::move(one));
  }
  auto tar = pack(std::move(events));
  ASSERT_TRUE(tar);
  auto tree = tree_of_tar(bytes_source(*tar));
  for (const unsigned mode : {0755u, 01755u, 0755u}) {
    auto event = core::testing::run(loop, tree->next());
    ASSERT_TRUE(event && *event);
    EXPECT_EQ(std::get<core::TreeEntry>(**event).info.mode, mode);
  }
}

TEST_F(TarTest, DepthIsBounded) {
  const auto deep = [](int parts) {
    std::string name;
    for (int i = 1; i < parts; ++i) name += "./d//";  // neither an empty part nor a dot counts
    return archive_of({{.name = name + "f"}});
  };
  EXPECT_EQ(reason(deep(256)), "");
  EXPECT_EQ(reason(deep(257)), "unsafe_path");
  EXPECT_EQ(reason(deep(3), {.depth = 2}), "unsafe_path");
  EXPECT_EQ(reason(deep(2), {.depth = 2}), "");
}

// Nothing grows while it is read: what is compressed is no archive here.
TEST_F(TarTest, NothingCompressedIsRead) {
  for (const auto add : {archive_write_add_filter_gzip, archive_write_add_filter_xz,
                         archive_write_add_filter_zstd}) {
    Bytes out;
    auto* tar = archive_write_new();
    archive_write_set_format_ustar(tar);
    ASSERT_EQ(add(tar), ARCHIVE_OK);
    archive_write_set_bytes_per_block(tar, 0);
    ASSERT_EQ(archive_write_open(tar, &out, nullptr, &append, nullptr), ARCHIVE_OK);
    auto* entry = archive_entry_new();
    archive_entry_copy_pathname(entry, "zeros");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, 1 << 20);
    archive_write_header(tar, entry);
    const Bytes body(1 << 20, '\0');
    archive_write_data(tar, body.data(), body.size());
    archive_entry_free(entry);
    archive_write_close(tar);
    archive_write_free(tar);
    ASSERT_LT(out.size(), 100'000u);
    const auto why = reason(out + Bytes(2048, '\0'));
    EXPECT_EQ(why, "malformed_tar");
  }
}

TEST_F(TarTest, PaxCannotSmuggleAPath) {
  Bytes tar = archive_of({{.name = "../../" + std::string(200, 'x')}});
  EXPECT_EQ(tar[156], 'x');  // a pax header comes first
  EXPECT_EQ(reason(tar), "unsafe_path");
}

// libarchive passes over such a record with a warning; the name that follows would be cut short.
TEST_F(TarTest, ADamagedPaxRecordIsNotPassedOver) {
  Bytes tar = archive_of({{.name = std::string(200, 'x')}});
  ASSERT_EQ(tar[156], 'x');
  tar[512] = 'z';
  EXPECT_EQ(reason(tar), "malformed_tar");
}

TEST_F(TarTest, GnuLongNames) {
  const std::string name(300, 'n');
  const Bytes tar = archive_of({{.name = name}}, archive_write_set_format_gnutar);
  EXPECT_EQ(tar[156], 'L');
  EXPECT_EQ(unpack(tar)->at(0).first, name);
}

TEST_F(TarTest, LimitsHold) {
  std::vector<Member> many;
  for (int i = 0; i < 5; ++i) many.push_back({.name = "d" + std::to_string(i), .type = AE_IFDIR});
  EXPECT_EQ(reason(archive_of(many), {.entries = 4}), "archive_too_large");
  EXPECT_EQ(reason(archive_of(many), {.entries = 5}), "");
  EXPECT_EQ(reason(archive_of({{.name = "x", .size = 100}}), {.bytes = 99}), "archive_too_large");
  EXPECT_EQ(reason(archive_of({{.name = "x", .size = 99}}), {.bytes = 99}), "");
  for (const std::size_t size : {200'000u, 20'000'000u}) {
    EXPECT_EQ(reason(archive_of({{.name = std::string(size, 'n')}})), "malformed_tar");
  }
}

TEST_F(TarTest, BrokenArchives) {
  EXPECT_EQ(reason(""), "truncated_tar");
  EXPECT_EQ(reason("short"), "truncated_tar");
  EXPECT_EQ(reason(Bytes(512, 'x')), "malformed_tar");
  auto tar = pack({entry("a", FileKind::kFile, 600), Bytes(600, 'x')});
  for (std::size_t size = 0; size < tar->size() - 1023; size += 97)
    EXPECT_EQ(reason(tar->substr(0, size)), "truncated_tar");
  EXPECT_EQ(reason(tar->substr(0, tar->size() - 1024)),
            "truncated_tar");  // whole, but for the end mark
  EXPECT_EQ(reason(tar->substr(0, tar->size() - 512)), "");
  EXPECT_EQ(reason(Bytes(1024, '\0')), "");
  EXPECT_EQ(reason(*tar + Bytes(9000, 'x')), "");  // what follows the mark is nobody's
}

// A file of zeros without an end mark: its contents are not taken for one.
TEST_F(TarTest, ZerosAreNoEndMark) {
  auto tar = pack({entry("a", FileKind::kFile, 2048), Bytes(2048, '\0')});
  EXPECT_EQ(reason(tar->substr(0, tar->size() - 1024)), "truncated_tar");
}

// Bytes without end, and how many were asked for.
class Endless : public ByteSource {
 public:
  Endless(Bytes head, std::uint64_t* given) : head_(std::move(head)), given_(given) {}
  Task<Bytes> next() override {
    Bytes out = head_.empty() ? Bytes(65'536, 'e') : std::exchange(head_, Bytes());
    *given_ += out.size();
    co_return out;
  }

 private:
  Bytes head_;
  std::uint64_t* given_;
};

TEST_F(TarTest, ALargeFileIsNeverInMemory) {
  constexpr std::uint64_t kSize = 256ull << 20;
  std::uint64_t given = 0;
  Bytes head = archive_of({{.name = "big", .size = 1}}).substr(0, 512);
  const std::string octal = "02000000000";  // 256 MiB
  for (std::size_t i = 0; i < octal.size(); ++i) damage(head, 124 + i, octal[i]);
  auto tree = tree_of_tar(std::make_unique<Endless>(head, &given));
  std::uint64_t taken = 0;
  while (taken < kSize) {
    auto event = core::testing::run(loop, tree->next());
    ASSERT_TRUE(event && *event);
    if (const auto* bytes = std::get_if<Bytes>(&**event)) {
      EXPECT_LE(bytes->size(), 65'536u);
      taken += bytes->size();
    }
    ASSERT_LE(given, taken + (512u << 10));
  }
  EXPECT_EQ(taken, kSize);
}

// A chunk larger than what may wait to be taken comes out in full.
TEST_F(TarTest, AnyAmountInOneChunk) {
  std::vector<Member> members{{.name = "big", .size = 3'000'000}};
  for (int i = 0; i < 3000; ++i) members.push_back({.name = "f" + std::to_string(i), .size = 1});
  auto got = unpack(archive_of(members), {}, std::numeric_limits<std::size_t>::max());
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(got->size(), members.size());
  EXPECT_EQ(got->at(0).second, Bytes(3'000'000, 'b'));
  EXPECT_EQ(got->back().second, "b");
}

TEST_F(TarTest, ReadersMayLeaveAtAnyMoment) {
  std::vector<Member> members{{.name = "big", .size = 1'000'000}};
  for (int i = 0; i < 600; ++i) members.push_back({.name = "f" + std::to_string(i), .size = 1});
  const Bytes tar = archive_of(members);
  for (const std::size_t chunk : {100u, 65'536u, 4'000'000u}) {
    for (const int events : {0, 1, 2, 5, 17, 300}) {
      auto tree = tree_of_tar(bytes_source(tar, chunk));
      for (int i = 0; i < events; ++i) ASSERT_TRUE(core::testing::run(loop, tree->next()));
    }
  }
  // Also while the parser works, or its word lies in the loop's queue.
  for (int i = 0; i < 50; ++i) {
    asio::io_context other;
    auto tree = tree_of_tar(bytes_source(tar, 4'000'000));
    auto started = core::testing::start(other, tree->next());
    started->cancel();
    if (!started->done()) other.run_one();
  }
}

// A client that says nothing more.
class Silent : public ByteSource {
 public:
  explicit Silent(asio::any_io_executor loop) : never_(std::move(loop)) {}
  Task<Bytes> next() override {
    co_await never_.wait();
    co_return Bytes();
  }

 private:
  Event never_;
};

TEST_F(TarTest, ACancelledReadUnwinds) {
  auto tree = tree_of_tar(std::make_unique<Silent>(loop.get_executor()));
  auto started = core::testing::start(loop, tree->next());
  EXPECT_FALSE(started->done());
  started->cancel();
  EXPECT_THROW(static_cast<void>(core::testing::finish(loop, *started)),
               boost::system::system_error);
}

TEST_F(TarTest, AFailureOfTheInputIsTheErrorTold) {
  const Bytes tar = archive_of({{.name = "big", .size = 100'000}});
  auto tree = tree_of_tar(bytes_source(tar, 7000, 3));
  for (;;) {
    auto event = core::testing::run(loop, tree->next());
    if (event) {
      ASSERT_TRUE(*event);
      continue;
    }
    EXPECT_EQ(event.error().code, Code::kCancelled);
    break;
  }
}

TEST_F(TarTest, AWriterMayBeLeftInTheMiddleOfALargeFile) {
  const Bytes part(100'000, 'x');
  auto tar = tar_of(tree_source({entry("big", FileKind::kFile, 1ull << 40), part, part}), "big");
  auto got = core::testing::run(loop, tar->next());
  ASSERT_TRUE(got);
  EXPECT_GE(got->size(), 100'000u);
  tar.reset();  // and not a terabyte of padding
}

// Property: random damage gives an error or a tree of safe paths; never a crash, never "..".
TEST_F(TarTest, DamageIsNeverTrusted) {
  std::mt19937 random(3);  // NOLINT: a fixed seed, so that a failure comes again
  auto tar = pack({entry("dir", FileKind::kDirectory), entry("dir/a", FileKind::kFile, 5),
                   Bytes("12345"), entry(std::string(130, 'p'), FileKind::kFile, 1), Bytes("x")});
  for (int round = 0; round < 2000; ++round) {
    Bytes damaged = *tar;
    for (int i = 0; i < 3; ++i) {
      damage(damaged, random() % damaged.size(), static_cast<char>(random()));
    }
    auto got = unpack(damaged);
    if (!got) continue;
    for (const auto& [path, contents] : *got) {
      EXPECT_FALSE(path.starts_with('/'));
      EXPECT_EQ(("/" + path + "/").find("/../"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace cay::api
