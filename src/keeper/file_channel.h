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
  FileChannel(int fd, const wire::FileOp& op) : fd_(fd), turn_(Turn::of(op)) {}

  void send(wire::Type type, std::string_view payload);
  template <wire::Message T>
  void send(wire::Type type, const T& message) {
    send(type, wire::encode(message));
  }
  // As send(), in one write with the next frame. A wait for the keeper sends it, too.
  void hold(wire::Type type, std::string_view payload);
  void ok() { send(wire::Type::kOk, std::string_view()); }
  void fail(const Error& error);

  // Data of at most kDataChunk, once the reader allows it. kWithNext: as hold().
  enum class When : bool { kNow, kWithNext };
  void send_data(std::uint64_t offset, std::string_view bytes, When when = When::kNow);
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
  // Waits for the operation after the one that is done. Frames that still come for that one are
  // dropped.
  wire::FileOp next_operation();
  // Sends the keeper a sign, not too often, that long work goes on.
  void heartbeat();

  // Run when the keeper hangs up, before the process ends.
  std::function<void()> on_hangup;

 private:
  // The credit of one operation.
  struct Turn {
    std::uint64_t credit = 0;      // what may be sent
    std::uint64_t to_grant = 0;    // of an upload
    std::uint64_t grant_from = 1;  // so much of it goes out at least
    static Turn of(const wire::FileOp& op);
  };

  void write_held();
  wire::Frame receive();
  [[noreturn]] void hang_up();

  int fd_;
  Turn turn_;
  std::string held_;
  std::int64_t last_beat_ = 0;
  wire::FrameReader reader_;
  UniqueFd bulk_;
};

}  // namespace cay::keeper
