// FileChannel: a file helper's blocking talk with its keeper. When the keeper hangs up, the
// helper's clean-up runs and the process ends.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::keeper {

class FileChannel {
 public:
  FileChannel(int fd, std::uint64_t credit) : fd_(fd), credit_(credit) {}

  void send(wire::Type type, std::string_view payload);
  template <wire::Message T>
  void send(wire::Type type, const T& message) {
    send(type, wire::encode(message));
  }
  void ok() { send(wire::Type::kOk, std::string_view()); }
  void fail(const Error& error);

  // Data of at most kDataChunk, once the reader allows it.
  void send_data(std::uint64_t offset, std::string_view bytes);
  // An entry of a tree: takes credit as data does.
  void send_entry(const wire::FileInfoMsg& entry);
  // The same for a layer's. False, and nothing is sent: it is larger than kDataChunk.
  bool send_entry(const wire::LayerEntryMsg& entry);
  // The same for an event of a watch.
  void send_event(const wire::FileEventMsg& event);
  // Takes the credit that has come, once fd() is readable. Waits for nothing.
  void take_credit();
  int fd() const { return fd_; }
  // How much may be sent now; waits until that is at least `least`.
  std::uint64_t wait_for_credit(std::uint64_t least = 1);
  // The next frame of an upload: kData, kEof, kFileInfo, kLayerEntry or kBulk. Gives new credit as
  // data comes.
  wire::Frame next_upload();
  // The socket that came with a kBulk. Content goes over it bare; the keeper does not see it.
  UniqueFd take_bulk() { return std::move(bulk_); }
  // Requests one from the keeper, and waits for it.
  UniqueFd open_bulk();
  // Sends the keeper a sign, not too often, that long work goes on.
  void heartbeat();

  // Run when the keeper hangs up, before the process ends.
  std::function<void()> on_hangup;

 private:
  wire::Frame receive();
  void add_credit(const wire::Frame& frame);
  [[noreturn]] void hang_up();

  int fd_;
  std::uint64_t credit_;
  std::uint64_t to_grant_ = 0;
  bool granted_ = false;
  std::int64_t last_beat_ = 0;
  wire::FrameReader reader_;
  UniqueFd bulk_;
};

}  // namespace cay::keeper
