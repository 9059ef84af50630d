// Files and trees through a real keeper, over UNIX and TCP.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "async/scope.h"
#include "runtime/keeper/testing/conformance.h"

namespace cay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using keeper::testing::Transport;

class FilesTest : public ConformanceTest {
 protected:
  Task<FileInfo> put(std::string to, std::vector<Bytes> chunks, std::optional<Error> error = {}) {
    core::WriteOptions options;
    auto source = std::make_unique<Chunks>(std::move(chunks), std::move(error));
    auto info = co_await box_->write(std::move(to), std::move(options), std::move(source));
    co_return info;
  }
  Task<Bytes> get(std::string from, core::ReadRange range = {}) {
    CAY_CO_TRY(auto stream, co_await box_->read(std::move(from), {}, range));
    Bytes all;
    while (true) {
      CAY_CO_TRY(const auto bytes, co_await stream.bytes->next());
      if (bytes.empty()) break;
      all += bytes;
    }
    co_return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Over, FilesTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         transport_name);

TEST_P(FilesTest, WhatIsWrittenIsReadBack) {
  play([this]() -> asio::awaitable<void> {
    std::string text;
    for (int i = 0; i < 700'000; ++i) text += std::to_string(i) + " ";
    std::vector<Bytes> chunks;
    for (std::size_t at = 0; at < text.size(); at += 200'000)
      chunks.push_back(text.substr(at, 200'000));
    auto info = co_await put(path("deep/er/file"), std::move(chunks));
    EXPECT_TRUE(info) << info.error().message;
    if (info) EXPECT_EQ(info->size, text.size());
    auto back = co_await get(path("deep/er/file"));
    EXPECT_TRUE(back && *back == text);
    const core::ReadRange range{.offset = 100'000, .length = 70'000};
    auto part = co_await get(path("deep/er/file"), range);
    EXPECT_TRUE(part && *part == text.substr(100'000, 70'000));
    auto stat = co_await box_->stat(path("deep/er/file"), {}, true);
    EXPECT_TRUE(stat && stat->size == text.size() && stat->kind == FileKind::kFile);
    auto empty = co_await put(path("empty"), {});
    EXPECT_TRUE(empty && empty->size == 0);
    auto nothing = co_await get(path("empty"));
    EXPECT_TRUE(nothing && nothing->empty());
  });
}

TEST_P(FilesTest, AnUploadThatFailsLeavesTheOldFile) {
  play([this]() -> asio::awaitable<void> {
    auto first = co_await put(path("file"), {"old"});
    EXPECT_TRUE(first);
    const Error gone{Code::kCancelled, "client_gone", "the client went away", 0};
    auto failed = co_await put(path("file"), {std::string(300'000, 'n')}, gone);
    EXPECT_FALSE(failed);
    EXPECT_EQ(failed.error().reason, "client_gone");
    auto back = co_await get(path("file"));
    EXPECT_TRUE(back && *back == "old");
  });
  // The temporary file goes soon after: the helper sees its socket close.
}

// Its bytes may come by a socket of their own, whose end is no verdict.
TEST_P(FilesTest, AHelperThatIsKilledEndsNoFile) {
  play([this]() -> asio::awaitable<void> {
    auto made = co_await put(path("file"), {std::string(8'000'000, 'x')});
    EXPECT_TRUE(made);
    auto stream = co_await box_->read(path("file"), {}, {});
    if (!stream) {
      ADD_FAILURE() << stream.error().message;
      co_return;
    }
    auto first = co_await stream->bytes->next();
    EXPECT_TRUE(first && !first->empty());
    const std::string keeper = std::to_string(keeper_.pid());
    std::ifstream children("/proc/" + keeper + "/task/" + keeper + "/children");
    pid_t helper = 0;
    for (pid_t pid = 0; children >> pid;) helper = pid;  // the newest: it waits for us to read
    if (helper <= 0 || ::kill(helper, SIGKILL) != 0) {
      ADD_FAILURE() << "no helper";
      co_return;
    }
    Result<Bytes> piece = Bytes("begin");
    while (piece && !piece->empty()) {
      auto next = co_await stream->bytes->next();
      piece = std::move(next);
    }
    EXPECT_FALSE(piece) << "a part was taken for the whole";
    if (!piece) EXPECT_EQ(piece.error().reason, "file_helper_died");
  });
}

TEST_P(FilesTest, ErrorsAreTyped) {
  play([this]() -> asio::awaitable<void> {
    auto missing = co_await get(path("none"));
    EXPECT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kNotFound);
    auto directory = co_await get(keeper_.home());
    EXPECT_FALSE(directory);
    EXPECT_EQ(directory.error().reason, "is_a_directory");
    ::mkfifo(path("fifo").c_str(), 0600);
    auto fifo = co_await get(path("fifo"));
    EXPECT_FALSE(fifo);
    EXPECT_EQ(fifo.error().reason, "not_a_regular_file");
    auto onto = co_await put(keeper_.home(), {"x"});
    EXPECT_FALSE(onto);
  });
}

TEST_P(FilesTest, DirectoriesRenamesGlobAndGrep) {
  play([this]() -> asio::awaitable<void> {
    auto made = co_await box_->make_directory(path("d/e"), {}, 0755);
    EXPECT_TRUE(made);
    auto one = co_await put(path("d/e/one.txt"), {"hello\nneedle here\n"});
    EXPECT_TRUE(one);
    auto two = co_await put(path("d/two.py"), {"print()\n"});
    EXPECT_TRUE(two);
    auto listed = co_await box_->list(path("d"), {});
    EXPECT_TRUE(listed && listed->size() == 2);
    auto found = co_await box_->glob(path("d"), "**/*.txt", {}, 100);
    EXPECT_TRUE(found);
    if (found) EXPECT_EQ(found->matches.size(), 1u);
    auto matches = co_await box_->grep(path("d"), "needle", "", {}, 100);
    EXPECT_TRUE(matches);
    if (matches && matches->matches.size() == 1) {
      EXPECT_EQ(matches->matches.front().line, 2u);
    } else {
      ADD_FAILURE() << "no match";
    }
    auto renamed = co_await box_->rename(path("d/two.py"), path("d/three.py"), {});
    EXPECT_TRUE(renamed);
    auto removed = co_await box_->remove(path("d"), {}, true);
    EXPECT_TRUE(removed);
    auto gone = co_await box_->stat(path("d"), {}, true);
    EXPECT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Code::kNotFound);
  });
}

TEST_P(FilesTest, ATreeGoesThereAndBack) {
  fs::create_directories(path("from/sub/empty"));
  std::ofstream(path("from/a")) << std::string(400'000, 'a');
  std::ofstream(path("from/sub/b")) << "bee";
  std::ofstream(path("from/sub/nothing"));
  fs::create_symlink("sub/b", path("from/link"));
  play([this]() -> asio::awaitable<void> {
    auto tree = co_await box_->read_tree(path("from"), {});
    EXPECT_TRUE(tree) << tree.error().message;
    if (!tree) co_return;
    auto written = co_await box_->write_tree(path("to"), {}, std::move(*tree));
    EXPECT_TRUE(written) << written.error().message;
  });
  EXPECT_EQ(fs::file_size(path("to/a")), 400'000u);
  EXPECT_EQ(fs::file_size(path("to/sub/b")), 3u);
  EXPECT_TRUE(fs::exists(path("to/sub/nothing")));
  EXPECT_TRUE(fs::is_directory(path("to/sub/empty")));
  EXPECT_EQ(fs::read_symlink(path("to/link")), "sub/b");
}

TEST_P(FilesTest, AnAbandonedReadHurtsNobody) {
  std::ofstream(path("big")) << std::string(8 << 20, 'b');
  play([this]() -> asio::awaitable<void> {
    for (int i = 0; i < 20; ++i) {
      auto stream = co_await box_->read(path("big"), {}, {});
      EXPECT_TRUE(stream) << stream.error().message;
      if (!stream) co_return;
      auto some = co_await stream->bytes->next();
      EXPECT_TRUE(some && !some->empty());
    }
    auto whole = co_await get(path("big"));
    EXPECT_TRUE(whole && whole->size() == (8u << 20));
  });
}

TEST_P(FilesTest, AReadWhoseLinkIsCutFailsAndSaysSo) {
  // Few enough bytes to go over the link itself.
  std::ofstream(path("big")) << std::string(200 << 10, 'b');
  box_.reset();
  Cutter cutter(keeper_, 3, 1, 100'000);
  connect(cutter.dialer());
  play([this]() -> asio::awaitable<void> {
    auto cut = co_await get(path("big"));
    EXPECT_FALSE(cut);
    EXPECT_EQ(cut.error().code, Code::kUnavailable);
    auto whole = co_await get(path("big"));
    EXPECT_TRUE(whole && whole->size() == (200u << 10));
  });
}

}  // namespace
}  // namespace cay::runtime::testing
