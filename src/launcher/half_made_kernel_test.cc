// A start that fails halfway, on this machine's kernel: it leaves nothing, and the launcher goes
// on.
#include <gtest/gtest.h>

#include <cctype>
#include <initializer_list>
#include <string>

#include "launcher/testing/launcher_test.h"

namespace cay::launcher::testing {
namespace {

using wire::Type;

// At that step, again and again.
void expect_each_fails(const std::string& step, unsigned first,
                       std::initializer_list<const char*> words) {
  Config config;
  config.fail_step = step;
  RunningLauncher launcher(config);
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  for (unsigned i = 0; i < 3; ++i) {
    const auto answer = client->ask(Type::kCreate, request_for(test_uuid(first + i)));
    ASSERT_EQ(type_of(answer), Type::kError);
    for (const char* word : words)
      EXPECT_NE(error_of(answer).find(word), std::string::npos) << error_of(answer);
  }
  expect_nothing_left(launcher);
  EXPECT_EQ(RunningLauncher::list(*client).size(), 0U);
}

class HalfWayTest : public LauncherTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HalfWayTest, LeavesNothing) { expect_each_fails(GetParam(), 300, {GetParam()}); }

// The kernel has no room for another compiled filter: that is the reported reason, and not a
// sandbox that died.
class FilterRoomTest : public LauncherTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(FilterRoomTest, IsToldByNameAndLeavesNothing) {
  expect_each_fails(GetParam(), 330, {"no_filter_room", "net.core.bpf_jit_limit"});
}

INSTANTIATE_TEST_SUITE_P(Steps, FilterRoomTest,
                         ::testing::Values("load the filter of init", "try a command's filter"),
                         [](const auto& info) { return info.index == 0 ? "Init" : "Command"; });

INSTANTIATE_TEST_SUITE_P(Steps, HalfWayTest,
                         ::testing::Values("record", "make cgroups", "make the disk",
                                           "make the socket", "fork the keeper", "write id maps",
                                           "make the time namespace", "mount /proc", "mount /dev",
                                           "pivot root", "confirm"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) {
                             return !std::isalnum(static_cast<unsigned char>(c));
                           });
                           return name;
                         });

}  // namespace
}  // namespace cay::launcher::testing
