// DecisionLog: each decision about one sandbox, numbered, in DATA/gate/ID.log
// (wire/decision_log.h). It is bounded and keeps the newest. A decision that cannot be kept leaves
// a hole in the numbers, which shows readers how many are missing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "wire/decision_log.h"

namespace cay::gate {

class DecisionLog {
 public:
  static constexpr std::size_t kMostWaiting =
      256;  // for the next write: a flood costs no more than that many a time

  // Continues the log of an earlier gate. If that gate could not write its last decisions, a line
  // records it.
  DecisionLog(int directory, const std::string& sandbox_id, UnixMillis now);

  void add(wire::DecidedMsg decided);   // gets its number here
  bool dirty() const { return news_; }  // since the last write
  // Appends the waiting decisions. If that fails, as on a full disk, they wait for the next call.
  // The log of a sandbox that is gone is not made again.
  Result<void> write();
  // Nothing more comes.
  void close();

 private:
  void wait_for_write(const wire::DecidedMsg& decided);
  bool mend(const std::string& text, std::size_t good);
  Result<void> make_file();
  bool keeper_is_there() const;

  int directory_;
  std::string file_, old_, keeper_;
  std::uint64_t last_ = 0;           // number given
  std::deque<std::string> waiting_;  // frames
  std::size_t begun_ = 0;            // bytes of the first of them that are written
  std::size_t size_ = 0;             // of the file
  bool exists_ = false, torn_ = false, news_ = false;
};

}  // namespace cay::gate
