// StoredFake: a fake runtime whose sandboxes outlive the daemon. A directory keeps which of them
// live, and their files; commands are kept in memory alone. Every program prints its last argument.
#pragma once
#include <filesystem>
#include <string>

#include "core/testing/fake_runtime.h"

namespace cay::two_runtimes {

class StoredFake : public core::testing::FakeRuntime {
 public:
  // Takes up what is kept below `directory`.
  StoredFake(asio::any_io_executor loop, std::filesystem::path directory);

  Task<std::shared_ptr<core::LiveSandbox>> boot(core::BootSpec spec) override;
  Task<void> stop(SandboxId id) override;
  Task<void> destroy(SandboxId id) override;
  // Keeps the files of all sandboxes.
  void part() override;

 private:
  void take_up(const SandboxId& id);
  void keep_files(const SandboxId& id) const;
  std::filesystem::path home_of(const SandboxId& id) const { return directory_ / id.get(); }

  const std::filesystem::path directory_;
};

}  // namespace cay::two_runtimes
