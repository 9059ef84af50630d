// FileWatchVerbs: core::FileWatches over live sandboxes.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "core/jobs.h"
#include "core/verbs/file_watches.h"
#include "core/wake.h"

namespace cay::core {

class FileWatchVerbs : public FileWatches {
 public:
  FileWatchVerbs(Wake& wake, Jobs& jobs) : wake_(wake), jobs_(jobs) {}

  Task<WatchInfo> open(Principal who, std::string ref, WatchSpec spec) override;
  Task<std::vector<WatchInfo>> list(Principal who, std::string ref) override;
  Task<WatchPage> read(Principal who, std::string ref, std::string id, std::uint64_t after,
                       std::uint32_t limit, Millis wait) override;
  Task<void> close(Principal who, std::string ref, std::string id) override;

  // Ends all of them: the daemon ends.
  void stop();

 private:
  struct Watch;
  using WatchPtr = std::shared_ptr<Watch>;
  using All = std::map<std::string, WatchPtr>;  // by id

  static Task<void> pump(WatchPtr watch, std::unique_ptr<FileWatch> source);
  static Task<void> attend(std::shared_ptr<All> all, WatchPtr watch);
  Result<WatchPtr> find(const Entry& entry, const std::string& id) const;
  void make_room(const SandboxId& sandbox);

  Wake& wake_;
  Jobs& jobs_;
  std::shared_ptr<All> all_ = std::make_shared<All>();
};

}  // namespace cay::core
