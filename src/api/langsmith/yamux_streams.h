// YamuxStreams: the open streams of a yamux session, and the windows of each in both directions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

namespace cay::api::langsmith {

class YamuxStreams {
 public:
  // The protocol's own window, for each stream and direction.
  static constexpr std::uint32_t kWindow = 256 * 1024;
  static constexpr std::size_t kMost = 256;
  // The window of a stream that has moved so many bytes, for as long as it lives: the peer then
  // waits for us less often. Only a few have one, for it is held in memory when nobody takes it.
  static constexpr std::uint32_t kWideWindow = 1024 * 1024;
  static constexpr std::uint64_t kWorthWide = 1024 * 1024;
  static constexpr std::size_t kMostWide = 4;

  struct Stream {
    std::uint32_t send_window = kWindow;
    std::uint32_t receive_window = kWindow;  // what the peer may send still
    std::uint32_t held = 0;                  // what it has sent, and was not consumed
    std::uint32_t most = kWindow;            // of both together
    std::uint64_t moved = 0;
    bool peer_fin = false;
    bool our_fin = false;

    // Counts bytes that the peer sends. Returns false if it may not send them.
    bool receive(std::uint32_t bytes);
  };

  // Returns false if kMost are open.
  bool open(std::uint32_t id);
  // Null: it is not open. The pointer is good until the stream is forgotten.
  Stream* find(std::uint32_t id);
  const Stream* find(std::uint32_t id) const;
  void forget(std::uint32_t id);
  // Forgets the stream once both sides have ended it.
  void forget_if_over(std::uint32_t id);
  // Counts received bytes that were consumed. Returns how many more bytes the peer may now send, or
  // 0 if they are too few for a frame of their own.
  std::uint32_t consume(Stream& stream, std::size_t bytes);
  std::size_t size() const { return streams_.size(); }

 private:
  std::map<std::uint32_t, Stream> streams_;
  std::size_t wide_ = 0;  // of them
};

}  // namespace cay::api::langsmith
