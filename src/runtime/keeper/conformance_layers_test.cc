// Layers through a real keeper, over UNIX and TCP.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <optional>

#include "base/testing/temp_dir.h"
#include "runtime/keeper/testing/conformance.h"

namespace cay::runtime::testing {
namespace {

using core::EntryKind;
using core::LayerEntry;
using core::LayerEvent;
using keeper::testing::Transport;

// The root that layers are written to. It is a base class, so that it is there before the keeper.
struct BareRoot {
  const cay::testing::TempDir root{0755};
  const UniqueFd root_fd = root.open();
};

// A source of events, and then its end or an error.
class Events final : public core::LayerSource {
 public:
  explicit Events(std::vector<LayerEvent> events, std::optional<Error> error = {})
      : events_(std::move(events)), error_(std::move(error)) {}
  Task<std::optional<LayerEvent>> next() override {
    if (at_ < events_.size()) co_return std::optional<LayerEvent>(events_[at_++]);
    if (error_) co_return *error_;
    co_return std::optional<LayerEvent>();
  }

 private:
  std::vector<LayerEvent> events_;
  std::optional<Error> error_;
  std::size_t at_ = 0;
};

class LayersTest : protected BareRoot, public ConformanceTest {
 protected:
  LayersTest()
      : ConformanceTest(
            [this](keeper::Context& context) { context.bare_root_fd = root_fd.get(); }) {}

  Task<void> write(std::vector<LayerEvent> events, std::optional<Error> error = {}) {
    auto source = std::make_unique<Events>(std::move(events), std::move(error));
    auto done = co_await box_->write_layer(std::move(source));
    co_return done;
  }
  // All events; the content of a file in one piece.
  Task<std::vector<LayerEvent>> read() {
    CAY_CO_TRY(auto source, co_await box_->read_layer(root.path()));
    std::vector<LayerEvent> all;
    while (true) {
      CAY_CO_TRY(auto event, co_await source->next());
      if (!event) break;
      auto* more = std::get_if<Bytes>(&*event);
      auto* before = all.empty() ? nullptr : std::get_if<Bytes>(&all.back());
      if (more != nullptr && before != nullptr) {
        *before += *more;
      } else {
        all.push_back(*std::move(event));
      }
    }
    co_return std::move(all);
  }
  static LayerEntry entry(EntryKind kind, std::string path) {
    LayerEntry one;
    one.path = std::move(path);
    one.kind = kind;
    one.mode = kind == EntryKind::kDirectory ? 0750 : 0640;
    one.uid = 12;
    one.gid = 34;
    one.mtime_ns = 1'500'000'000'000'000'007;
    return one;
  }
  static std::string shown(const std::vector<LayerEvent>& events) {
    std::string out;
    for (const LayerEvent& event : events) {
      if (const auto* bytes = std::get_if<Bytes>(&event)) {
        out += "  " + std::to_string(bytes->size()) + " bytes\n";
        continue;
      }
      const auto& one = std::get<LayerEntry>(event);
      out += one.path + " kind " + std::to_string(static_cast<int>(one.kind)) + " size " +
             std::to_string(one.size) + " mode " + std::to_string(one.mode) + " owner " +
             std::to_string(one.uid) + ":" + std::to_string(one.gid) + " time " +
             std::to_string(one.mtime_ns) + " to " + one.target;
      for (const auto& [name, value] : one.xattrs) out += " " + name + "=" + value;
      out += "\n";
    }
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Over, LayersTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         transport_name);

TEST_P(LayersTest, ALayerInOrderIsReadBackAsItWasWritten) {
  play([this]() -> asio::awaitable<void> {
    Bytes large;
    for (int i = 0; i < 400'000; ++i) large += std::to_string(i) + " ";
    auto directory = entry(EntryKind::kDirectory, "d");
    directory.xattrs["user.note"] = "of a directory";
    auto program = entry(EntryKind::kFile, "d/program");
    program.size = large.size();
    program.mode = 06755;
    program.xattrs = {{"user.a", "1"}, {"user.b", std::string(2000, 'b')}};
    auto same = entry(EntryKind::kHardLink, "d/same");  // the facts are the first name's
    same.target = "d/program";
    same.mode = 06755;
    auto symlink = entry(EntryKind::kSymlink, "e");
    symlink.target = "../../d";
    symlink.mode = 0777;
    const std::vector<LayerEvent> events = {entry(EntryKind::kDirectory, ""),
                                            directory,
                                            program,
                                            large,
                                            same,
                                            symlink,
                                            entry(EntryKind::kFile, "empty"),
                                            entry(EntryKind::kFifo, "fifo")};
    auto written = co_await write(events);
    EXPECT_TRUE(written) << written.error().message;
    auto back = co_await read();
    EXPECT_TRUE(back) << back.error().message;
    if (back) EXPECT_EQ(shown(*back), shown(events));
    if (back && back->size() == events.size()) EXPECT_TRUE(std::get<Bytes>((*back)[3]) == large);
  });
}

TEST_P(LayersTest, ManyEntriesAndBytesPassUnderCredit) {
  play([this]() -> asio::awaitable<void> {
    std::vector<LayerEvent> events;
    for (int i = 10'000; i < 14'000; ++i) {
      auto one = entry(EntryKind::kFile, "f" + std::to_string(i));
      one.size = 1500;
      events.emplace_back(one);
      events.emplace_back(Bytes(1500, static_cast<char>('a' + i % 26)));
    }
    auto written = co_await write(events);
    EXPECT_TRUE(written) << written.error().message;
    auto back = co_await read();
    EXPECT_TRUE(back);
    if (back) EXPECT_EQ(back->size(), events.size() + 1);  // and the root
  });
}

TEST_P(LayersTest, ErrorsNameTheEntry) {
  play([this]() -> asio::awaitable<void> {
    auto stranger = entry(EntryKind::kFile, "stranger");
    stranger.uid = 70000;
    auto refused = co_await write({stranger});
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_EQ(refused.error().reason, "bad_layer");
    if (!refused) EXPECT_NE(refused.error().message.find("stranger"), std::string::npos);
    auto half = entry(EntryKind::kFile, "half");
    half.size = 10;
    refused = co_await write({half, Bytes("12345")});
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_EQ(refused.error().reason, "bad_layer");
    refused = co_await write({half, Bytes("12345678901")});
    EXPECT_FALSE(refused);
    auto huge = entry(EntryKind::kFile, "huge");
    huge.xattrs = {{"user.a", std::string(40'000, 'a')}, {"user.b", std::string(40'000, 'b')}};
    refused = co_await write({huge});
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_NE(refused.error().message.find("huge"), std::string::npos);
    const Error gone{Code::kCancelled, "source_gone", "the source went away", 0};
    refused = co_await write({half}, gone);
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_EQ(refused.error().reason, "source_gone");
    auto none = co_await box_->read_layer(root.path() + "/none");
    EXPECT_FALSE(none);
    if (!none) EXPECT_EQ(none.error().reason, "file_not_found");
    // The keeper serves on.
    auto fine = co_await write({entry(EntryKind::kFile, "fine")});
    EXPECT_TRUE(fine);
  });
}

}  // namespace
}  // namespace cay::runtime::testing
