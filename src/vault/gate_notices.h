// GateNotices: writes the routes of sandboxes for the gate (routes_file.h), and notifies the gate.
//
// The gate reads the files by itself when it starts. A notice that fails is kept, and
// send_pending() repeats it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "async/task.h"
#include "model/ids.h"
#include "wire/vault.h"

namespace cay::vault {

class GateNotices {
 public:
  // Notifies a gate that serves that the file of this sandbox changed. It may be empty.
  using Notify = std::function<Task<void>(SandboxId)>;
  // `data` is the data directory.
  GateNotices(std::string data, Notify notify)
      : data_(std::move(data)), notify_(std::move(notify)) {}

  // Writes the routes of one sandbox. Returns true if the file changed.
  Result<bool> write(const wire::BrokerRoutes& routes);
  // Writes these, and removes the routes of every other sandbox. A file that cannot be written does
  // not delay the others.
  Result<void> write_all(std::vector<wire::BrokerRoutes> routes);
  asio::awaitable<void> send(std::string sandbox_id);
  asio::awaitable<void> send_pending();

 private:
  const std::string data_;
  const Notify notify_;
  // Sandboxes whose files changed and which no gate has confirmed, with the number of the write. At
  // first these are all, because an earlier daemon may have died between the write and the notice.
  std::map<std::string, std::uint64_t> pending_;
  std::uint64_t writes_ = 0;
  bool wrote_all_ = false;
};

}  // namespace cay::vault
