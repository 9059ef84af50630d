// The core over fakes, for its own tests.
#pragma once
#include <gtest/gtest.h>

#include "core/core.h"
#include "core/testing/fake_images.h"
#include "core/testing/fake_runtime.h"
#include "core/testing/fake_store.h"
#include "core/testing/manual_clock.h"
#include "core/testing/run.h"

namespace cay::core {

class CoreTest : public ::testing::Test {
 protected:
  using Progress = std::function<void(std::string)>;

  CoreTest() {
    config.timing.wake_wait = std::chrono::milliseconds(200);
    config.timing.last_boots = std::chrono::milliseconds(20);
    config.init_life = "init-a";
    config.images = &images;
    config.warn = [this](std::string sentence) { warnings.push_back(std::move(sentence)); };
  }
  ~CoreTest() override {
    if (!core) return;
    runtime.release_boots();
    runtime.release_stops();
    EXPECT_TRUE(run(core->close(false)));
  }

  // A daemon's start. A second call is a restart: the old one vanishes as by SIGKILL, only its
  // store and what the runtime keeps alive remain.
  Result<void> open() {
    std::vector<NamedRuntime> runtimes{{std::string(kNativeRuntime), runtime}};
    if (second) runtimes.push_back({"second", *second, second_capacity});
    core = std::make_unique<Core>(loop.get_executor(), std::move(runtimes), store, clock, config);
    return run(core->open(Progress()));
  }

  template <class T>
  Result<T> run(Task<T> task) {
    return testing::run<T>(loop, std::move(task));
  }
  template <class T>
  std::shared_ptr<testing::Started<T>> begin(Task<T> task) {
    return testing::start<T>(loop, std::move(task));
  }
  template <class T>
  Result<T> finish(const std::shared_ptr<testing::Started<T>>& started) {
    return testing::finish<T>(loop, *started);
  }
  void drain() { testing::drain(loop); }

  static SandboxSpec named(const std::string& name) {
    SandboxSpec spec;
    spec.name = name;
    return spec;
  }
  Result<Sandbox> create(const std::string& name, CreateOptions options = {}) {
    return run(core->sandboxes().create(alice, named(name), options));
  }
  SandboxState state(const std::string& name) {
    auto got = run(core->sandboxes().get(alice, name));
    return got ? got->state : SandboxState::kDeleting;
  }
  static CommandSpec command(const std::string& id) {
    CommandSpec spec;
    spec.id = CommandId(id);
    spec.argv = {"program"};
    return spec;
  }
  void expect_nothing_left() {
    EXPECT_TRUE(store.rows.empty());
    EXPECT_TRUE(runtime.alive.empty());
    EXPECT_TRUE(runtime.disks.empty());
    EXPECT_TRUE(core->registry().entries().empty());
  }

  asio::io_context loop;
  testing::ManualClock clock;
  testing::FakeRuntime runtime{loop.get_executor(), clock};
  std::unique_ptr<testing::FakeRuntime> second;  // beside it, where a test makes one
  std::optional<HostCapacity> second_capacity;
  testing::FakeImages images{loop.get_executor()};
  testing::FakeStore store;
  CoreConfig config;
  std::vector<std::string> warnings;
  Principal alice{TenantId("a"), "alice"};
  Principal bob{TenantId("b"), "bob"};
  std::unique_ptr<Core> core;
};

}  // namespace cay::core
