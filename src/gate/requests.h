// Requests: cuts a client's bytes into requests, so that each is judged before a byte of it goes
// on. It refuses what two parsers could frame differently: the server would read a request that
// nobody judged. A server that ignores a body takes it for its next request. So a request with a
// body is the connection's last and carries `Connection: close`. Only a WebSocket may follow a
// request: HTTP/2 (h2c) would carry more requests, each with a host of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gate/first_bytes.h"

namespace cay::gate {

// How a request goes on behind its head.
struct Framing {
  std::uint64_t length = 0;
  bool chunked = false;
  bool asks_to_switch = false;  // to another protocol
  bool may_switch = false;  // to a WebSocket alone: behind it comes whatever the server agrees to.
                            // Other upgrades are not passed on

  bool has_body() const { return chunked || length > 0; }
};

// Whether servers read no body for this method, so that no client may send one.
bool takes_no_body(std::string_view method);

// Takes a head that names a host. Returns nullopt if it can be read in two ways.
std::optional<Framing> framing_of(std::string_view head);

class Requests {
 public:
  enum class Is : std::uint8_t {
    kMore,     // nothing, until more is added
    kRequest,  // a request's head, whole: to be judged
    kBody,     // some of what belongs to the last request
    kOver,     // the last request has ended: for good; what is added goes nowhere
    kRefused,  // no request, or none that is read in one way: for good
  };
  struct Part {
    Is is = Is::kMore;
    // The bytes of kRequest and kBody, to be passed on. Only the last head's connection fields are
    // changed.
    std::string bytes{};
    std::string host{};  // of kRequest
    bool may_switch = false;
    bool names_nobody = false;  // of kRefused: a request without a Host
  };

  void add(std::string_view bytes);
  // Returns as much of a body as there is, however small its chunks are.
  Part next();
  // The last request has ended, and the next has not been given.
  bool is_between() const { return at_ == At::kHead; }
  // Returns the bytes that were added and not returned yet.
  std::string take_rest();

 private:
  enum class At : std::uint8_t {
    kHead,
    kBody,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kLastChunk,
    kOver,
    kRefused
  };
  Part one();
  bool in_body() const { return at_ != At::kHead && at_ != At::kOver && at_ != At::kRefused; }
  std::string_view waiting() const { return std::string_view(added_).substr(given_); }
  Part refuse(bool names_nobody = false);
  Part give(std::size_t size);
  Part head();
  Part body(At then);
  Part chunk_size();
  Part line_end(At then);

  std::string added_;
  std::size_t given_ = 0;   // of it
  std::size_t looked_ = 0;  // of what waits, where that is a head's beginning
  At at_ = At::kHead;
  std::uint64_t left_ = 0;  // of the body, or of its chunk
};

}  // namespace cay::gate
