// BuildOutput: the log of one build, in memory. Its first bytes go once it is full. The values of
// the build's secrets are replaced in it.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.h"

namespace cay::core {

class BuildOutput {
 public:
  // `secrets`: values that never get into the log.
  BuildOutput(asio::any_io_executor loop, std::vector<std::string> secrets);
  BuildOutput(const BuildOutput&) = delete;
  BuildOutput& operator=(const BuildOutput&) = delete;
  ~BuildOutput();

  // A line of Cay's own. It begins at the beginning of a line.
  void line(std::string_view text);
  // Output of a command. The last bytes may be held back, as they may begin a secret.
  void output(std::string_view bytes);
  // The command ended: nothing is held back.
  void end_output();
  // Nothing more comes.
  void close();
  // Keeps Error::reason of the build's failure beside the log.
  void failed_for(std::string reason) { reason_ = std::move(reason); }
  const std::string& reason() const { return reason_; }

  // Returns the last lines of the output of the newest command.
  std::string tail() const;

  // The text from an offset on, at most 256 KiB of it. `from` is later than the offset if bytes
  // were dropped.
  struct Text {
    std::uint64_t from = 0;
    std::string text{};
  };
  Text text(std::uint64_t offset) const;
  // Returns once there is more than that, or at the end of the log, or when the time is over.
  asio::awaitable<void> wait(std::uint64_t offset, std::chrono::milliseconds most);

 private:
  std::uint64_t end() const { return begin_ + kept_.size(); }
  void append(std::string_view bytes);
  void pass(std::size_t hold_back);

  std::vector<std::string> secrets_;  // the longest first
  std::size_t longest_ = 0;
  std::string held_{};         // output that may begin a secret
  std::string kept_{};         // the log's last bytes
  std::uint64_t begin_ = 0;    // offset of the first of them
  std::uint64_t command_ = 0;  // where the output of the newest command begins
  bool closed_ = false;
  std::string reason_{};
  Event more_;
};

}  // namespace cay::core
