// Layers through a real keeper and its helpers: what is written is read back, and hostile entries
// reach nothing outside the root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/testing/temp_dir.h"
#include "keeper/file_layer.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

using wire::FileVerb;
using wire::Type;

struct Item {
  wire::LayerEntryMsg entry;
  std::string content;
};

Item item(LayerKind kind, std::string path) {
  Item one;
  one.entry.path = std::move(path);
  one.entry.kind = static_cast<std::uint8_t>(kind);
  one.entry.mode = kind == LayerKind::kDirectory ? 0755 : 0644;
  one.entry.mtime_ns = 1'600'000'000'123'456'789;
  return one;
}
Item file(std::string path, std::string content) {
  Item one = item(LayerKind::kFile, std::move(path));
  one.entry.size = content.size();
  one.content = std::move(content);
  return one;
}
Item link_to(LayerKind kind, std::string path, std::string target) {
  Item one = item(kind, std::move(path));
  one.entry.target = std::move(target);
  return one;
}

class LayersTest : public ::testing::TestWithParam<Transport> {
 protected:
  LayersTest() {
    std::filesystem::create_directory(outside);
    std::ofstream(outside + "/secret") << "secret";
  }

  UniqueFd make_root() {
    std::filesystem::create_directory(root);
    return UniqueFd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  wire::FileOp op(FileVerb verb, const std::string& path) {
    wire::FileOp out;
    out.verb = static_cast<std::uint8_t>(verb);
    out.path = path;
    out.credit = 256 * 1024;
    return out;
  }

  // Sends what `next` gives, as the keeper allows it. Code 0: it was written.
  wire::ErrorMsg write(const std::function<std::optional<Item>()>& next) {
    const std::uint32_t channel = client.ask(Type::kFileOp, op(FileVerb::kWriteLayer, "/"));
    std::uint64_t credit = 0;
    std::optional<wire::ErrorMsg> ended;
    const auto hear = [&] {
      const wire::Frame frame = client.next(channel);
      if (type_of(frame) == Type::kCredit) {
        credit += wire::decode<wire::Credit>(frame.payload).value().bytes;
      } else {
        ended = type_of(frame) == Type::kOk ? wire::ErrorMsg{} : error_of(frame);
      }
    };
    const auto send = [&](Type type, std::string payload, std::uint64_t takes) {
      while (!ended && credit < takes) hear();
      if (ended) return;
      client.send(type, channel, std::move(payload));
      credit -= takes;
    };
    while (auto one = next()) {
      std::string payload = wire::encode(one->entry);
      const std::size_t size = payload.size();
      send(Type::kLayerEntry, std::move(payload), size);
      for (std::size_t at = 0; at < one->content.size() && !ended; at += wire::kDataChunk) {
        wire::Data data;
        data.offset = at;
        data.bytes = std::string_view(one->content).substr(at, wire::kDataChunk);
        send(Type::kData, wire::encode_data(data), data.bytes.size());
      }
      if (ended) return *ended;
    }
    client.send(Type::kEof, channel, wire::Eof{});
    while (!ended) hear();
    return *ended;
  }
  wire::ErrorMsg write(std::vector<Item> items) {
    std::size_t at = 0;
    return write([&]() -> std::optional<Item> {
      if (at == items.size()) return std::nullopt;
      return items[at++];
    });
  }
  // Reads a layer; `error` has what ended it.
  std::vector<Item> read(const std::string& path, wire::ErrorMsg& error) {
    const std::uint32_t channel = client.ask(Type::kFileOp, op(FileVerb::kReadLayer, path));
    std::vector<Item> items;
    for (;;) {
      const wire::Frame frame = client.next(channel);
      std::uint64_t took = 0;
      if (type_of(frame) == Type::kLayerEntry) {
        items.push_back({wire::decode<wire::LayerEntryMsg>(frame.payload).value(), {}});
        took = frame.payload.size();
      } else if (type_of(frame) == Type::kData) {
        const auto data = wire::decode_data(frame.payload).value();
        EXPECT_EQ(data.offset, items.back().content.size());
        items.back().content += data.bytes;
        took = data.bytes.size();
      } else if (type_of(frame) == Type::kError) {
        error = error_of(frame);
        return items;
      } else if (type_of(frame) == Type::kEof) {
        return items;
      }
      if (took > 0) client.send(Type::kCredit, channel, wire::Credit{took});
    }
  }
  std::vector<Item> read() {
    wire::ErrorMsg error;
    auto items = read(root, error);
    EXPECT_EQ(error.code, 0U) << error.message;
    return items;
  }
  struct stat look(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::lstat((root + "/" + path).c_str(), &info), 0) << path;
    return info;
  }
  bool is_there(const std::string& path) {
    struct stat info{};
    return ::lstat((root + "/" + path).c_str(), &info) == 0;
  }
  std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void expect_refused(std::vector<Item> items, const std::string& named) {
    const wire::ErrorMsg error = write(std::move(items));
    EXPECT_EQ(error.reason, "bad_layer") << named;
    EXPECT_EQ(error.code, static_cast<std::uint32_t>(Code::kInvalidArgument));
    EXPECT_NE(error.message.find('"' + named + '"'), std::string::npos) << error.message;
  }

  const cay::testing::TempDir place{0755};
  const std::string root = place.path() + "/root", outside = place.path() + "/outside";
  const UniqueFd root_fd = make_root();
  LocalKeeper keeper{GetParam(), [this](Context& context) {
                       context.bare_root_fd = root_fd.get();
                       context.file_deadline_ms = 2000;
                     }};
  Client client = keeper.client();
};

INSTANTIATE_TEST_SUITE_P(Over, LayersTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         [](const auto& transport) {
                           return transport.param == Transport::kUnix ? "Unix" : "Tcp";
                         });

TEST_P(LayersTest, WhatIsWrittenIsReadBackInTheOrderOfNames) {
  std::string large(3'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761U >> 9);
  Item top = item(LayerKind::kDirectory, "");
  Item directory = item(LayerKind::kDirectory, "a");
  directory.entry.mode = 01777;
  directory.entry.uid = 7;
  Item program = file("a/program", large);
  program.entry.mode = 04755;
  program.entry.uid = 1000;
  program.entry.gid = 65535;
  program.entry.xattrs = {{"user.note", "hi"}};
  // A little-endian vfs_cap_data of revision 2: CAP_NET_RAW, effective.
  const std::string capability(
      "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00",
      20);
  Item ping = file("a/zping", "#!");
  ping.entry.xattrs = {{"security.capability", capability}};
  Item fifo = item(LayerKind::kFifo, "b.fifo");
  fifo.entry.mode = 0620;
  Item symlink = link_to(LayerKind::kSymlink, "c", "/etc/nowhere");
  symlink.entry.uid = 5;
  const std::vector<Item> items = {
      top,  directory, program, link_to(LayerKind::kHardLink, "a/same", "a/program"),
      ping, fifo,      symlink, file("empty", "")};
  const wire::ErrorMsg error = write(items);
  ASSERT_EQ(error.code, 0U) << error.message;
  EXPECT_EQ(look("a/program").st_mode & 07777, 04755U);
  EXPECT_EQ(look("a/program").st_ino, look("a/same").st_ino);
  EXPECT_EQ(look("a").st_mtim.tv_nsec, 123'456'789);

  const std::vector<Item> back = read();
  std::vector<std::string> paths;
  std::map<std::string, Item> by_path;
  for (const Item& one : back) {
    paths.push_back(one.entry.path);
    by_path[one.entry.path] = one;
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"", "a", "a/program", "a/same", "a/zping", "b.fifo",
                                             "c", "empty"}));
  EXPECT_EQ(by_path["a/same"].entry.kind, static_cast<std::uint8_t>(LayerKind::kHardLink));
  EXPECT_EQ(by_path["a/same"].entry.target, "a/program");
  for (const Item& sent : items) {
    if (sent.entry.kind == static_cast<std::uint8_t>(LayerKind::kHardLink)) continue;
    const Item& got = by_path[sent.entry.path];
    EXPECT_EQ(got.entry.kind, sent.entry.kind) << sent.entry.path;
    EXPECT_TRUE(got.content == sent.content) << sent.entry.path;
    EXPECT_EQ(got.entry.size, sent.entry.size) << sent.entry.path;
    EXPECT_EQ(got.entry.uid, sent.entry.uid) << sent.entry.path;
    EXPECT_EQ(got.entry.gid, sent.entry.gid) << sent.entry.path;
    EXPECT_EQ(got.entry.mtime_ns, sent.entry.mtime_ns) << sent.entry.path;
    EXPECT_EQ(got.entry.target, sent.entry.target) << sent.entry.path;
    if (sent.entry.kind != static_cast<std::uint8_t>(LayerKind::kSymlink))
      EXPECT_EQ(got.entry.mode, sent.entry.mode) << sent.entry.path;
    ASSERT_EQ(got.entry.xattrs.size(), sent.entry.xattrs.size()) << sent.entry.path;
    for (std::size_t i = 0; i < sent.entry.xattrs.size(); ++i) {
      EXPECT_EQ(got.entry.xattrs[i].name, sent.entry.xattrs[i].name);
      EXPECT_EQ(got.entry.xattrs[i].value, sent.entry.xattrs[i].value);
    }
  }
}

TEST_P(LayersTest, WhatIsThereGivesWay) {
  ASSERT_EQ(write({file("tree/deep/f", "1"), file("keep/old", "old"), file("first", "1"),
                   link_to(LayerKind::kHardLink, "second", "first"),
                   link_to(LayerKind::kSymlink, "link", "keep"), item(LayerKind::kFifo, "pipe")})
                .code,
            0U);
  EXPECT_EQ(look("tree/deep").st_mode & 07777, 0755U);  // made as it was missing
  Item keep = item(LayerKind::kDirectory, "keep");
  keep.entry.mode = 0700;
  const wire::ErrorMsg error =
      write({file("tree", "a file"), keep, file("first", "2"), item(LayerKind::kDirectory, "pipe"),
             item(LayerKind::kDirectory, "link"), link_to(LayerKind::kHardLink, "first", "first")});
  ASSERT_EQ(error.code, 0U) << error.message;
  EXPECT_EQ(content(root + "/tree"), "a file");
  EXPECT_EQ(content(root + "/keep/old"), "old");
  EXPECT_EQ(look("keep").st_mode & 07777, 0700U);
  EXPECT_EQ(content(root + "/first"), "2");
  EXPECT_EQ(content(root + "/second"), "1");
  EXPECT_TRUE(S_ISDIR(look("pipe").st_mode));
  EXPECT_TRUE(S_ISDIR(look("link").st_mode));
}

TEST_P(LayersTest, GoneAndOpaqueRemoveWhatLayersBelowHave) {
  ASSERT_EQ(
      write({file("d/old/f", "1"), file("d/other", "1"), file("gone/f", "1"), file("g", "1")}).code,
      0U);
  const wire::ErrorMsg error =
      write({item(LayerKind::kDirectory, "d"), item(LayerKind::kOpaque, "d"), file("d/new", "2"),
             item(LayerKind::kGone, "gone"), item(LayerKind::kGone, "g"),
             item(LayerKind::kGone, "never"), item(LayerKind::kGone, "never/there")});
  ASSERT_EQ(error.code, 0U) << error.message;
  EXPECT_FALSE(is_there("d/old"));
  EXPECT_FALSE(is_there("d/other"));
  EXPECT_EQ(content(root + "/d/new"), "2");
  EXPECT_FALSE(is_there("gone"));
  EXPECT_FALSE(is_there("g"));
}

TEST_P(LayersTest, PathsOutOfTheRootAreRefused) {
  for (const std::string path :
       {"/etc/passwd", "../outside/f", "a/../../outside/f", "a/..", ".", "a//b", "a/"}) {
    expect_refused({file(path, "x")}, path);
    expect_refused({item(LayerKind::kGone, path)}, path);
  }
  for (const std::string target : {"/etc/passwd", "../outside/secret", "a/../../outside/secret"})
    expect_refused({link_to(LayerKind::kHardLink, "stolen", target)}, "stolen");
  expect_refused({item(LayerKind::kGone, "")}, "/");
  EXPECT_FALSE(is_there("stolen"));
  EXPECT_EQ(content(outside + "/secret"), "secret");
  EXPECT_FALSE(std::filesystem::exists(outside + "/f"));
}

TEST_P(LayersTest, LinksLeadNowhereOutOfTheRoot) {
  // Absolute, and up: both are resolved within the root.
  expect_refused({link_to(LayerKind::kSymlink, "out", outside), file("out/secret", "overwritten")},
                 "out/secret");
  expect_refused({link_to(LayerKind::kHardLink, "stolen", "out/secret")}, "stolen");
  ASSERT_EQ(write({link_to(LayerKind::kSymlink, "up", "../../.."), file("up/caught", "1"),
                   item(LayerKind::kDirectory, "within"),
                   link_to(LayerKind::kSymlink, "in", "/within"), file("in/f", "2"),
                   item(LayerKind::kGone, "out/secret"), item(LayerKind::kOpaque, "out")})
                .code,
            0U);
  EXPECT_EQ(content(root + "/caught"), "1");
  EXPECT_EQ(content(root + "/within/f"), "2");
  EXPECT_EQ(content(outside + "/secret"), "secret");
  // The last part of a path is replaced, not followed.
  ASSERT_EQ(
      write({link_to(LayerKind::kSymlink, "last", outside + "/secret"), file("last", "x")}).code,
      0U);
  EXPECT_EQ(content(root + "/last"), "x");
  EXPECT_EQ(content(outside + "/secret"), "secret");
}

TEST_P(LayersTest, EntriesThatNoSandboxCanHaveAreRefused) {
  Item stranger = file("stranger", "");
  stranger.entry.uid = 70000;
  expect_refused({stranger}, "stranger");
  stranger.entry.uid = 0;
  stranger.entry.gid = 65536;
  expect_refused({stranger}, "stranger");
  Item device = item(static_cast<LayerKind>(8), "device");
  expect_refused({device}, "device");
  Item wide = file("wide", "");
  wide.entry.mode = 0100644;
  expect_refused({wide}, "wide");
  for (const std::string name :
       {"trusted.overlay.opaque", "user.overlay.opaque", "user.overlay.x"}) {
    Item marked = item(LayerKind::kDirectory, "marked");
    marked.entry.xattrs = {{name, "y"}};
    expect_refused({marked}, "marked");
  }
  Item labelled = file("labelled", "");
  labelled.entry.xattrs = {{"security.selinux", "system_u"}};
  EXPECT_EQ(write({labelled}).code, 0U);
  EXPECT_LT(::getxattr((root + "/labelled").c_str(), "security.selinux", nullptr, 0), 0);
  expect_refused({file("f", ""), file("f/below", "")}, "f/below");
  expect_refused({item(LayerKind::kDirectory, "d"), link_to(LayerKind::kHardLink, "dd", "d")},
                 "dd");
  expect_refused({file(std::string(300, 'n'), "")}, std::string(300, 'n'));
}

TEST_P(LayersTest, FramesThatMakeNoLayerAreRefused) {
  Item short_file = file("f", "12345");
  short_file.entry.size = 4;
  EXPECT_EQ(write({short_file}).reason, "malformed_request");
  Item long_file = file("f", "12345");
  long_file.entry.size = 6;
  EXPECT_EQ(write({long_file, file("g", "")}).reason, "malformed_request");
  EXPECT_EQ(write({long_file}).reason, "malformed_request");
}

TEST_P(LayersTest, ALayerOfManyEntriesTakesLittleMemory) {
  const int entries = GetParam() == Transport::kUnix ? 100'000 : 10'000;
  int at = 0;
  const wire::ErrorMsg error = write([&]() -> std::optional<Item> {
    if (at == entries) return std::nullopt;
    const int one = at++;
    const std::string path = "d" + std::to_string(one / 1000) + "/f" + std::to_string(one);
    if (one % 10 != 0) return item(LayerKind::kGone, path);
    return file(path, std::string(1000, 'x'));
  });
  ASSERT_EQ(error.code, 0U) << error.message;
  EXPECT_TRUE(is_there("d9/f9990"));
  EXPECT_TRUE(!kMemoryTells || keeper.peak_kib() < 64 * 1024) << keeper.peak_kib();
  EXPECT_EQ(read().size(), static_cast<std::size_t>(entries / 10 + entries / 1000 + 1));
  EXPECT_TRUE(!kMemoryTells || keeper.peak_kib() < 64 * 1024) << keeper.peak_kib();
}

TEST_P(LayersTest, OverlaysMarksBecomeGoneAndOpaque) {
  ASSERT_EQ(write({file("d/f", "1"), file("e", "1")}).code, 0U);
  if (::mknod((root + "/gone").c_str(), S_IFCHR | 0000, makedev(0, 0)) != 0)
    GTEST_SKIP() << "no whiteouts can be made here";
  ASSERT_EQ(::setxattr((root + "/d").c_str(), kOpaqueAttribute, "y", 1, 0), 0);
  ASSERT_EQ(::setxattr((root + "/e").c_str(), "user.overlay.origin", "o", 1, 0), 0);
  std::vector<std::pair<std::string, LayerKind>> seen;
  for (const Item& one : read()) {
    seen.emplace_back(one.entry.path, static_cast<LayerKind>(one.entry.kind));
    EXPECT_TRUE(one.entry.xattrs.empty()) << one.entry.path;
  }
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, LayerKind>>{{"", LayerKind::kDirectory},
                                                                  {"d", LayerKind::kDirectory},
                                                                  {"d", LayerKind::kOpaque},
                                                                  {"d/f", LayerKind::kFile},
                                                                  {"e", LayerKind::kFile},
                                                                  {"gone", LayerKind::kGone}}));
}

TEST_P(LayersTest, WhatIsNoLayerIsSaid) {
  wire::ErrorMsg error;
  read(root + "/none", error);
  EXPECT_EQ(error.reason, "file_not_found");
  read("/proc", error);
  EXPECT_EQ(error.reason, "bad_layer");
  if (::mknod((root + "/null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    read(root, error);
    EXPECT_EQ(error.reason, "bad_layer");
    EXPECT_NE(error.message.find("\"null\""), std::string::npos) << error.message;
  }
  LocalKeeper without(GetParam());
  Client other = without.client();
  EXPECT_EQ(error_of(other.call(Type::kFileOp, op(FileVerb::kWriteLayer, "/"))).reason,
            "no_layers");
}

}  // namespace
}  // namespace cay::keeper::testing
