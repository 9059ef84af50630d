// A plan comes to the zygote whole, or it is not sent.
#include "keeper/zygote_request.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace cay::keeper {
namespace {

struct Pair {
  Pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    keeper.reset(ends[0]);
    zygote.reset(ends[1]);
  }
  UniqueFd keeper, zygote;
};

// A command's plan and what it points to.
struct Sent {
  explicit Sent(std::vector<std::string> words, std::vector<std::string> variables)
      : argv_text(std::move(words)), env_text(std::move(variables)) {
    for (std::string& text : argv_text) argv.push_back(text.data());
    for (std::string& text : env_text) env.push_back(text.data());
    argv.push_back(nullptr);
    env.resize(env.size() + kSpareEnv + 1, nullptr);
    plan.argv = argv.data();
    plan.env = env.data();
    plan.env_count = static_cast<int>(env_text.size());
    plan.status_fd = file.get();
  }
  std::vector<std::string> argv_text, env_text;
  std::vector<char*> argv, env;
  UniqueFd file{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  ChildPlan plan;
};

ino_t inode(int fd) {
  struct stat facts{};
  return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

TEST(ZygoteRequestTest, EverythingArrives) {
  const Pair pair;
  Sent sent({"/bin/sh", "-c", ""}, {"A=1", "B="});
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd input(ends[0]), output(ends[1]);
  const UniqueFd group(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd join(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  const int joins[] = {join.get()};
  pid_t cell = 0;
  sent.plan.stdio[0] = input.get();
  sent.plan.stdio[2] = output.get();
  sent.plan.joins = joins;
  sent.plan.join_count = 1;
  sent.plan.user = "someone";
  sent.plan.cwd = "/work";
  sent.plan.cpus = 7;
  sent.plan.terminal.rows = 9;
  sent.plan.terminal.cols = 11;
  sent.plan.pid_cell = &cell;
  ASSERT_TRUE(send_to_zygote(pair.keeper.get(), sent.plan, group.get()));

  const auto got = std::make_unique<ZygoteRequest>();
  ASSERT_TRUE(receive_in_zygote(pair.zygote.get(), *got));
  EXPECT_STREQ(got->plan.user, "someone");
  EXPECT_STREQ(got->plan.cwd, "/work");
  EXPECT_STREQ(got->plan.argv[1], "-c");
  EXPECT_STREQ(got->plan.argv[2], "");
  EXPECT_EQ(got->plan.argv[3], nullptr);
  EXPECT_STREQ(got->plan.env[0], "A=1");
  EXPECT_STREQ(got->plan.env[1], "B=");
  EXPECT_EQ(got->plan.env[2], nullptr);
  EXPECT_EQ(got->plan.env_count, 2);
  EXPECT_EQ(got->plan.cpus, 7U);
  EXPECT_EQ(got->plan.terminal.rows, 9);
  EXPECT_EQ(got->plan.terminal.cols, 11);
  EXPECT_EQ(got->plan.terminal.socket, -1);
  EXPECT_EQ(got->plan.line_fd, -1);
  EXPECT_EQ(got->plan.pid_cell, &cell);
  EXPECT_EQ(got->plan.stdio[1], -1);
  EXPECT_EQ(inode(got->plan.stdio[0]), inode(input.get()));
  EXPECT_EQ(inode(got->plan.stdio[2]), inode(output.get()));
  EXPECT_EQ(inode(got->plan.status_fd), inode(sent.file.get()));
  EXPECT_EQ(inode(got->group), inode(group.get()));
  ASSERT_EQ(got->plan.join_count, 1);
  EXPECT_EQ(inode(got->plan.joins[0]), inode(join.get()));
}

TEST(ZygoteRequestTest, WhatDoesNotFitIsNotSent) {
  const Pair pair;
  const UniqueFd group(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Sent many(std::vector<std::string>(kZygoteArgs + 1, "w"), {});
  EXPECT_FALSE(send_to_zygote(pair.keeper.get(), many.plan, group.get()));
  Sent variables({"w"}, std::vector<std::string>(kZygoteArgs + 1, "A=1"));
  EXPECT_FALSE(send_to_zygote(pair.keeper.get(), variables.plan, group.get()));
  Sent large({"w", std::string(kZygoteBytes, 'x')}, {});
  EXPECT_FALSE(send_to_zygote(pair.keeper.get(), large.plan, group.get()));
  Sent task({"w"}, {});
  task.plan.task = [](int, int, void*) { return 0; };
  EXPECT_FALSE(send_to_zygote(pair.keeper.get(), task.plan, group.get()));
  char byte = 0;
  EXPECT_EQ(::recv(pair.zygote.get(), &byte, 1, MSG_DONTWAIT), -1);  // nothing of them came
  Sent fits(std::vector<std::string>(kZygoteArgs, "w"), {});
  EXPECT_TRUE(send_to_zygote(pair.keeper.get(), fits.plan, group.get()));
}

TEST(ZygoteRequestTest, AForeignMessageAndAClosedSocketEndIt) {
  const auto got = std::make_unique<ZygoteRequest>();
  Pair pair;
  ASSERT_EQ(::send(pair.keeper.get(), "short", 5, 0), 5);
  EXPECT_FALSE(receive_in_zygote(pair.zygote.get(), *got));
  const std::string zeros(4096, '\0');  // no status pipe
  ASSERT_EQ(::send(pair.keeper.get(), zeros.data(), zeros.size(), 0), 4096);
  EXPECT_FALSE(receive_in_zygote(pair.zygote.get(), *got));
  pair.keeper.reset();
  EXPECT_FALSE(receive_in_zygote(pair.zygote.get(), *got));
}

}  // namespace
}  // namespace cay::keeper
