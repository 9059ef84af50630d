#include "core/core_fixture.h"

namespace cay::core {
namespace {

class TunnelsTest : public CoreTest {
 protected:
  TunnelsTest() {
    EXPECT_TRUE(open());
    id = create("box")->id;
    runtime.box(id).echo_ports = {5432};
  }
  SandboxId id;
};

TEST_F(TunnelsTest, BytesGoBothWaysAndAreCounted) {
  auto tunnel = run(core->tunnels().open(alice, "box", 5432));
  ASSERT_TRUE(tunnel);
  ASSERT_TRUE(run((*tunnel)->write("hello")));
  EXPECT_EQ(*run((*tunnel)->read()), "hello");
  ASSERT_TRUE(run((*tunnel)->shut_write()));
  EXPECT_EQ(*run((*tunnel)->read()), "");
  const auto entry = core->registry().by_id(id);
  EXPECT_EQ(entry->bytes_in, 5U);
  EXPECT_EQ(entry->bytes_out, 5U);
}

TEST_F(TunnelsTest, RefusalsAreTyped) {
  EXPECT_EQ(run(core->tunnels().open(alice, "box", 0)).error().reason, "invalid_port");
  EXPECT_EQ(run(core->tunnels().open(alice, "box", 1)).error().reason, "connect_refused");
  EXPECT_EQ(run(core->tunnels().open(alice, "none", 5432)).error().code, Code::kNotFound);
  EXPECT_EQ(run(core->tunnels().open(bob, "box", 5432)).error().code, Code::kNotFound);
}

TEST_F(TunnelsTest, AStoppedSandboxIsWoken) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(run(core->tunnels().open(alice, "box", 5432)).error().reason, "connect_refused");
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(TunnelsTest, IntoAPausedSandboxNothingIsOpenedAndWhatIsOpenWaits) {
  auto before = run(core->tunnels().open(alice, "box", 5432));
  ASSERT_TRUE(before);
  ASSERT_TRUE(run(core->sandboxes().pause(alice, "box")));
  const auto refused = run(core->tunnels().open(alice, "box", 5432));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotReady);
  EXPECT_EQ(refused.error().reason, "sandbox_paused");
  EXPECT_EQ(run(core->tunnels().hold(alice, "box")).error().reason, "sandbox_paused");
  EXPECT_EQ(core->registry().by_id(id)->holds, 1) << "of the open connection";
  EXPECT_EQ(state("box"), SandboxState::kPaused);
  ASSERT_TRUE(run(core->sandboxes().resume(alice, "box")));
  EXPECT_TRUE(run(core->tunnels().open(alice, "box", 5432)));
}

TEST_F(TunnelsTest, AConnectionKeepsItAwakeAndAHoldDoesToo) {
  const auto entry = core->registry().by_id(id);
  auto tunnel = run(core->tunnels().open(alice, "box", 5432));
  EXPECT_EQ(entry->holds, 1);
  tunnel->reset();
  EXPECT_EQ(entry->holds, 0);
  auto hold = run(core->tunnels().hold(alice, "box"));
  EXPECT_EQ(entry->holds, 1);
  clock.advance(std::chrono::hours(1));
  core->timers().sweep();
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
  hold->reset();
  clock.advance(std::chrono::hours(1));
  core->timers().sweep();
  drain();
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

}  // namespace
}  // namespace cay::core
