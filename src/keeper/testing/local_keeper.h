// LocalKeeper: a real keeper in a forked child, without a sandbox: commands run where the test
// runs. Over a UNIX or a TCP socket, with a spool directory of its own. Destroying it ends the
// keeper.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"
#include "keeper/keeper.h"
#include "keeper/testing/client.h"
#include "wire/hello_proof.h"

namespace cay::keeper::testing {

// Whether resident memory means something here: sanitizers multiply it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAY_MEMORY_IS_INFLATED 1
#endif
#endif
#ifdef CAY_MEMORY_IS_INFLATED
inline constexpr bool kMemoryTells = false;
#else
inline constexpr bool kMemoryTells = true;
#endif

enum class Transport { kUnix, kTcp };

class LocalKeeper {
 public:
  // `change` may adjust the context before the keeper starts; `inside` runs in the keeper's process
  // just before it becomes one.
  explicit LocalKeeper(Transport transport = Transport::kUnix,
                       const std::function<void(Context&)>& change = {},
                       const std::function<void(Context&)>& inside = {});
  ~LocalKeeper();
  LocalKeeper(const LocalKeeper&) = delete;
  LocalKeeper& operator=(const LocalKeeper&) = delete;

  UniqueFd connect() const;
  // The key by which a peer proves itself over TCP; empty: none is needed.
  std::string key() const {
    return transport_ == Transport::kTcp ? std::string(wire::kHelloKey, 'k') : std::string();
  }
  // Returns a connection that has sent HELLO, and proved itself.
  Client client() const;
  pid_t pid() const { return pid_; }
  const std::string& spool() const { return spool_; }  // the spool directory
  const std::string& home() const {
    return home_.path();
  }  // a temporary directory of the test's own
  // Resident memory now, and the most it ever was, in KiB.
  long rss_kib() const;
  long peak_kib() const;
  // Time it has used, in clock ticks.
  long cpu_ticks() const;
  // Waits for the keeper's own end; its exit code.
  int wait();

 private:
  const cay::testing::TempDir home_{0755};
  const std::string spool_ = home_.path() + "/spool", address_ = home_.path() + "/socket";
  int port_ = 0;
  Transport transport_;
  pid_t pid_ = -1;
};

// A command of `argv` with the given id.
wire::StartCommand command(std::string id, std::vector<std::string> argv);
wire::StartCommand shell(std::string id, std::string script);

}  // namespace cay::keeper::testing
