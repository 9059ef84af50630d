#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/testing/temp_dir.h"
#include "client/left_out.h"
#include "client/tar_pack.h"
#include "client/tar_unpack.h"
#include "codec/left_out.h"

namespace cay::client {
namespace {

namespace fs = std::filesystem;

struct Member {
  std::string name = {};
  mode_t type = AE_IFREG;
  std::string content = {};  // of a link: its target
  mode_t mode = 0644;
  std::string hardlink = {};
  la_int64_t size = 0;        // more than its content: a hole comes before it
  std::string left_out = {};  // a name in the attribute for what is left out
};

std::string tar_of(const std::vector<Member>& members) {
  std::string out(1 << 20, '\0');
  std::size_t used = 0;
  auto* tar = archive_write_new();
  archive_write_set_format_pax(tar);
  archive_write_open_memory(tar, out.data(), out.size(), &used);
  for (const auto& member : members) {
    auto* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_mode(entry, member.type | member.mode);
    const auto length = static_cast<la_int64_t>(member.content.size());
    const la_int64_t hole = std::max<la_int64_t>(member.size - length, 0);
    if (member.type == AE_IFREG) archive_entry_set_size(entry, hole + length);
    if (hole > 0) archive_entry_sparse_add_entry(entry, hole, length);
    if (member.type == AE_IFLNK) archive_entry_set_symlink(entry, member.content.c_str());
    if (!member.left_out.empty()) {
      archive_entry_xattr_add_entry(entry, codec::kLeftOutAttribute, member.left_out.data(),
                                    member.left_out.size());
    }
    if (!member.hardlink.empty()) archive_entry_set_hardlink(entry, member.hardlink.c_str());
    EXPECT_EQ(archive_write_header(tar, entry), ARCHIVE_OK) << archive_error_string(tar);
    if (member.type == AE_IFREG && member.hardlink.empty()) {
      const std::string zeros(
          1 << 20, '\0');  // libarchive takes the whole file, and leaves the hole out itself
      for (la_int64_t left = hole; left > 0; left -= std::min<la_int64_t>(left, 1 << 20)) {
        archive_write_data(tar, zeros.data(),
                           std::min<std::size_t>(static_cast<std::size_t>(left), zeros.size()));
      }
      archive_write_data(tar, member.content.data(), member.content.size());
    }
    archive_entry_free(entry);
  }
  archive_write_close(tar);
  archive_write_free(tar);
  out.resize(used);
  return out;
}

struct TarTest : ::testing::Test {
  const cay::testing::TempDir temp;
  const fs::path root = temp.path();
  std::uint64_t most = sdk::kMostCopied;

  Result<sdk::CopyReport> unpack(const std::string& bytes, Links links = Links::kInsideOnly) {
    std::string left = bytes;
    UnpackOptions options;
    options.links = links;
    options.max_bytes = most;
    return unpack_tar((root / "target").string(),
                      [&left] { return Result<std::string>(std::exchange(left, {})); }, options);
  }
  std::string read(const fs::path& path) const {
    std::ifstream file(root / path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
  }
  bool there(const fs::path& path) const {
    return fs::symlink_status(root / path).type() != fs::file_type::not_found;
  }
};

TEST_F(TarTest, PacksAndUnpacksATree) {
  fs::create_directories(root / "from/sub dir");
  std::ofstream(root / "from/a.bin") << std::string(200'000, 'x');
  std::ofstream(root / "from/sub dir/run.sh") << "#!/bin/sh\n";
  fs::permissions(root / "from/sub dir/run.sh", fs::perms(0755));
  fs::create_symlink("a.bin", root / "from/link");
  auto packer = TarPacker::open(root / "from");
  ASSERT_TRUE(packer);
  UnpackOptions options;
  auto report = unpack_tar((root / "target").string(), [&] { return (*packer)->next(); }, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(read("target/a.bin"), std::string(200'000, 'x'));
  EXPECT_EQ(fs::read_symlink(root / "target/link"), "a.bin");
  EXPECT_EQ(fs::status(root / "target/sub dir/run.sh").permissions(), fs::perms(0755));
  EXPECT_EQ(report->moved.bytes, (*packer)->report().moved.bytes);
  EXPECT_TRUE(report->skipped.empty());
}

TEST_F(TarTest, NamesThatLeadOutAreSkipped) {
  auto report = unpack(tar_of({{"../up"}, {"/abs"}, {"a/../../up"}, {"fine", AE_IFREG, "ok"}}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->skipped.size(), 3u);
  EXPECT_EQ(report->left_out, 3u);
  EXPECT_EQ(report->skipped[0].path, "../up");
  EXPECT_EQ(report->skipped[0].reason, "its name leads out of the target");
  EXPECT_FALSE(there("up"));
  EXPECT_EQ(read("target/fine"), "ok");
}

TEST_F(TarTest, WhatLiesTooDeepHasItsOwnReasonAndAShortPath) {
  std::string deep;
  for (int i = 0; i < 255; ++i) deep += "dir/";
  auto report = unpack(tar_of({{deep + "last", AE_IFREG, "ok"},
                               {deep + "d/below", AE_IFREG, "x"},
                               {deep + "d/d/../../../up", AE_IFREG, "x"}}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(read("target/" + deep + "last"), "ok");
  ASSERT_EQ(report->skipped.size(), 2u);
  EXPECT_EQ(report->skipped[0].reason, "it lies deeper than 256 names");
  EXPECT_LE(report->skipped[0].path.size(), 200u);
  EXPECT_TRUE(report->skipped[0].path.starts_with("dir/dir/"));
  EXPECT_TRUE(report->skipped[0].path.ends_with("/dir/d/below"));
  EXPECT_EQ(report->skipped[1].reason, "its name leads out of the target");
}

TEST_F(TarTest, AReportNamesTheFirstThousandAndCountsAll) {
  std::vector<Member> members;
  for (int i = 0; i < 1200; ++i) members.push_back({"fifo" + std::to_string(i), AE_IFIFO});
  auto report = unpack(tar_of(members));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->left_out, 1200u);
  EXPECT_EQ(report->skipped.size(), 1000u);
}

TEST_F(TarTest, WhatTheArchiveNamesAsLeftOutIsReported) {
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "d/";
  const std::string bytes = tar_of({{"a", AE_IFREG, "a"},
                                    {.name = "./", .type = AE_IFDIR, .left_out = "run/app.sock"},
                                    {.name = "./", .type = AE_IFDIR, .left_out = deep + "d"}});
  auto report = unpack(bytes);
  ASSERT_TRUE(report) << report.error().message;
  std::string left = bytes;
  auto looked = look_through_tar([&left] { return Result<std::string>(std::exchange(left, {})); });
  ASSERT_TRUE(looked) << looked.error().message;
  for (const auto& one : {*report, *looked}) {
    ASSERT_EQ(one.skipped.size(), 2u);
    EXPECT_EQ(one.skipped[0].path, "run/app.sock");
    EXPECT_EQ(one.skipped[0].reason, "not a file, directory or symbolic link");
    EXPECT_EQ(one.skipped[1].reason, "it lies deeper than 256 names");
  }
  EXPECT_EQ(read("target/a"), "a");
}

TEST_F(TarTest, WhatASandboxWouldRefuseIsLeftOutOfTheArchive) {
  fs::path at = root / "from";
  fs::create_directories(at);
  std::ofstream(at / "kept") << "x";
  ASSERT_EQ(::mkfifo((at / "fifo").c_str(), 0600), 0);
  for (int i = 0; i < 256; ++i) at /= "d";
  fs::create_directories(at);
  std::ofstream(at / "deep") << "x";
  auto packer = TarPacker::open(root / "from");
  ASSERT_TRUE(packer);
  std::string bytes;
  for (;;) {
    auto part = (*packer)->next();
    ASSERT_TRUE(part) << part.error().message;
    if (part->empty()) break;
    bytes += *part;
  }
  std::map<std::string, std::string> left_out;
  for (const auto& one : (*packer)->report().skipped) left_out[one.path] = one.reason;
  ASSERT_EQ(left_out.size(), 2u);
  EXPECT_EQ(left_out["fifo"], kNoFile);
  left_out.erase("fifo");
  EXPECT_EQ(left_out.begin()->second, kTooDeep);
  EXPECT_TRUE(left_out.begin()->first.ends_with("/d/deep")) << left_out.begin()->first;
  auto report = unpack(bytes);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->left_out, 0u);
  EXPECT_EQ(read("target/kept"), "x");
}

TEST_F(TarTest, NothingIsWrittenThroughALinkOfTheArchive) {
  fs::create_directory(root / "outside");
  const std::string to = (root / "outside").string();
  auto report = unpack(tar_of({{"out", AE_IFLNK, to}, {"out/evil", AE_IFREG, "x"}}), Links::kAll);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(fs::is_empty(root / "outside"));
  EXPECT_EQ(report->skipped.size(), 1u);
}

TEST_F(TarTest, NothingIsWrittenThroughALinkOfTheTarget) {
  fs::create_directories(root / "outside");
  fs::create_directories(root / "target");
  std::ofstream(root / "outside/file") << "kept";
  fs::create_symlink("../outside", root / "target/out");
  fs::create_symlink("../outside/file", root / "target/file");
  auto report =
      unpack(tar_of({{"out/evil", AE_IFREG, "x"}, {"file", AE_IFREG, "new"}, {"out", AE_IFDIR}}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(there("outside/evil"));
  EXPECT_EQ(read("outside/file"), "kept");
  EXPECT_EQ(read("target/file"), "new");
  EXPECT_EQ(report->skipped.size(), 2u);
}

TEST_F(TarTest, LinksOutOfTheTreeAreLeftOutUnlessAskedFor) {
  const std::string bytes = tar_of({{"abs", AE_IFLNK, "/etc/passwd"},
                                    {"d", AE_IFDIR, "", 0755},
                                    {"d/up", AE_IFLNK, "../.."},
                                    {"d/in", AE_IFLNK, "../fine"},
                                    {"fine", AE_IFREG, "ok"}});
  auto report = unpack(bytes);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->skipped.size(), 2u);
  EXPECT_FALSE(there("target/abs"));
  EXPECT_FALSE(there("target/d/up"));
  EXPECT_EQ(read("target/d/in"), "ok");
  ASSERT_TRUE(unpack(bytes, Links::kAll));
  EXPECT_EQ(fs::read_symlink(root / "target/abs"), "/etc/passwd");
}

TEST_F(TarTest, ALinkMayNotClimbBehindANameThatMayBeALink) {
  EXPECT_TRUE(link_stays_inside("a/b/l", "../../c"));
  EXPECT_TRUE(link_stays_inside("l", "x/y"));
  EXPECT_FALSE(link_stays_inside("a/b/l", "../../../c"));
  EXPECT_FALSE(link_stays_inside("l", "x/.."));
  EXPECT_FALSE(link_stays_inside("l", "/etc"));
  EXPECT_FALSE(link_stays_inside("l", ""));
}

TEST_F(TarTest, NoDevicesFifosHardLinksOrSetuid) {
  auto report = unpack(tar_of({{"fifo", AE_IFIFO},
                               {"dev", AE_IFCHR},
                               {"f", AE_IFREG, "x", 06755},
                               {"hard", AE_IFREG, "", 0644, "/etc/passwd"}}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->skipped.size(), 3u);
  EXPECT_FALSE(there("target/fifo"));
  EXPECT_FALSE(there("target/hard"));
  struct stat facts{};
  ASSERT_EQ(::stat((root / "target/f").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0755u);
}

TEST_F(TarTest, ADirectoryThatMayNotBeWrittenIsFilledFirst) {
  auto report = unpack(tar_of({{"d", AE_IFDIR, "", 0555}, {"d/f", AE_IFREG, "x"}}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(read("target/d/f"), "x");
  fs::permissions(root / "target/d", fs::perms(0755));
}

TEST_F(TarTest, AnArchiveCutShortIsAnErrorAndLeavesTheOldFile) {
  fs::create_directory(root / "target");
  std::ofstream(root / "target/old") << "kept";
  std::string bytes = tar_of({{"old", AE_IFREG, std::string(100'000, 'x')}});
  bytes.resize(50'000);
  auto report = unpack(bytes);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().reason, "bad_archive");
  EXPECT_EQ(read("target/old"), "kept");
  EXPECT_EQ(std::distance(fs::directory_iterator(root / "target"), fs::directory_iterator()), 1);
}

TEST_F(TarTest, ZerosTakeNoDisk) {
  const std::string content =
      "begin" + std::string(700'000, '\0') + "end" + std::string(100'000, '\0');
  ASSERT_TRUE(unpack(tar_of({{"f", AE_IFREG, content}})));
  EXPECT_EQ(read("target/f"), content);
  struct stat facts{};
  ASSERT_EQ(::stat((root / "target/f").c_str(), &facts), 0);
  EXPECT_LE(facts.st_blocks * 512, 64 << 10);
}

TEST_F(TarTest, AnEntrysHolesStayHoles) {
  constexpr la_int64_t kSize = la_int64_t{1} << 33;
  const std::string bytes = tar_of({{.name = "f", .content = "far", .size = kSize}});
  auto report = unpack(bytes);
  ASSERT_TRUE(report) << report.error().message;
  struct stat facts{};
  ASSERT_EQ(::stat((root / "target/f").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, kSize);
  EXPECT_LE(facts.st_blocks * 512, 64 << 10);
  std::ifstream file(root / "target/f");
  file.seekg(kSize - 3);
  std::string end(3, '\0');
  file.read(end.data(), 3);
  EXPECT_EQ(end, "far");
}

TEST_F(TarTest, MoreThanWasAskedForIsRefusedBeforeItIsWritten) {
  const std::string bytes =
      tar_of({{"a", AE_IFREG, std::string(600, 'x')}, {"b", AE_IFREG, std::string(401, 'x')}});
  most = 1000;
  auto report = unpack(bytes);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().reason, "copy_too_large");
  EXPECT_TRUE(there("target/a"));
  EXPECT_FALSE(there("target/b"));
  most = 1001;
  EXPECT_TRUE(unpack(bytes));
  EXPECT_TRUE(there("target/b"));
}

TEST_F(TarTest, ASourceThatFailsIsTheErrorTold) {
  UnpackOptions options;
  auto pull = [] {
    return Result<std::string>(Error{Code::kUnavailable, "connection_lost", "broke", 0});
  };
  auto report = unpack_tar((root / "target").string(), pull, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().reason, "connection_lost");
}

TEST_F(TarTest, PackingWhatIsNotThereFails) {
  auto packer = TarPacker::open(root / "none");
  ASSERT_FALSE(packer);
  EXPECT_EQ(packer.error().code, Code::kNotFound);
}

// Names are bytes: none may end the process, be changed or be left out.
TEST_F(TarTest, NamesOfAnyBytesGoAndComeBack) {
  std::string deep;
  for (int i = 0; i < 4; ++i) deep += std::string(60, '\xc3').append("\xa4/");
  const std::vector<std::string> names = {
      "\xc3\x84main.go",   "\xff\xfe.bin",
      "line\nbreak\x01\t", std::string(250, '\xff'),
      deep + "\xc3\xbc",   std::string(40, 'a') + "/\xe6\x97\xa5/" + std::string(120, 'b')};
  for (const auto& name : names) {
    const fs::path path = root / "source" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << name.size();
  }
  fs::create_symlink(std::string(150, '\xff'), root / "source/link");
  auto packer = TarPacker::open(root / "source");
  ASSERT_TRUE(packer);
  std::string bytes;
  for (;;) {
    auto part = (*packer)->next();
    ASSERT_TRUE(part) << part.error().message;
    if (part->empty()) break;
    bytes += *part;
  }
  const auto report = unpack(bytes, Links::kAll);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->skipped.empty());
  for (const auto& name : names)
    EXPECT_EQ(read(fs::path("target") / name), std::to_string(name.size()));
  EXPECT_EQ(fs::read_symlink(root / "target/link").string(), std::string(150, '\xff'));
}

}  // namespace
}  // namespace cay::client
