// Roots that outlive the deletion of their sandboxes for a moment, on this machine's kernel.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

#include "launcher/testing/launcher_test.h"

namespace cay::launcher::testing {
namespace {

using wire::Type;

constexpr unsigned kSandboxes = 12;

std::size_t descriptors(pid_t pid) {
  const auto dir = os::open_dir(AT_FDCWD, "/proc/" + std::to_string(pid) + "/fd");
  const auto names = dir ? os::list_dir(dir->get()) : Result<std::vector<std::string>>();
  return names ? names->size() : 0;
}

void live_and_go(Client& client, unsigned first) {
  for (unsigned i = 0; i < kSandboxes; ++i) {
    const std::string id = test_uuid(first + i);
    auto created = client.ask(Type::kCreate, request_for(id));
    ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
    ASSERT_EQ(type_of(client.ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  }
}

TEST_F(LauncherTest, RootsOfDeletedSandboxesAreLetGo) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::size_t before = descriptors(launcher.worker());
  ASSERT_GT(before, 0U);
  live_and_go(*client, 900);
  expect_nothing_left(launcher);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (descriptors(launcher.worker()) > before && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(descriptors(launcher.worker()), before);
}

TEST_F(LauncherTest, AWorkerThatDiesWithRootsLeavesNothing) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  live_and_go(*client, 930);
  ASSERT_EQ(::kill(launcher.worker(), SIGKILL), 0);
  client = launcher.connect();
  ASSERT_TRUE(client);
  EXPECT_EQ(RunningLauncher::list(*client).size(), 0U);
  expect_nothing_left(launcher);
  live_and_go(*client, 930);  // the same names are free
  expect_nothing_left(launcher);
}

TEST_F(LauncherTest, ALauncherThatEndsWithRootsStartsAgain) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  live_and_go(*client, 960);
  EXPECT_EQ(launcher.end(), 0);
  launcher.start();
  ASSERT_TRUE(launcher.is_ready);
  client = launcher.connect();
  ASSERT_TRUE(client);
  live_and_go(*client, 960);
  expect_nothing_left(launcher);
}

}  // namespace
}  // namespace cay::launcher::testing
