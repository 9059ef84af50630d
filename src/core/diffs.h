// Diffs: compares the disks of sandboxes with the snapshots that they stand on. The disk is sealed
// for that, as for a capture. A builder on the layers below reads both.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/channel.h"
#include "async/event.h"
#include "core/captures.h"
#include "core/layer_tree.h"
#include "core/runtimes.h"
#include "core/verbs/contents.h"

namespace cay::core {

// One comparison under way.
struct Diff {
  explicit Diff(asio::any_io_executor loop) : begun(loop), changes(std::move(loop), kRoom) {}
  static constexpr std::size_t kRoom = 256;

  Event begun;                  // the disk is sealed and can be read, or `result` has an error
  Channel<DiskChange> changes;  // its close by the reader ends the work
  Result<void> result{};        // once `changes` is closed by the work
};

class Diffs {
 public:
  Diffs(const Runtimes& runtimes, LayerTree& layers, Captures& captures, Jobs& jobs)
      : runtimes_(runtimes), layers_(layers), captures_(captures), jobs_(jobs) {}

  Task<std::unique_ptr<ChangeSource>> begin(std::shared_ptr<Entry> entry);
  void stop();  // the daemon ends
  bool is_idle() const;

 private:
  Task<void> job(std::shared_ptr<Diff> diff, std::shared_ptr<Entry> entry);
  Task<void> compare(std::shared_ptr<Diff> diff, std::shared_ptr<Entry> entry, LayerId sealed);

  const Runtimes& runtimes_;
  LayerTree& layers_;
  Captures& captures_;
  Jobs& jobs_;
  std::vector<std::weak_ptr<Diff>> all_;
};

}  // namespace cay::core
