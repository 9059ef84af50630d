// Netlink: messages put together as bytes, sent in one go, and the kernel's answer to all of them.
// A batch is built once and may be sent many times, each time in another network namespace.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::os {

class NetlinkBatch {
 public:
  // Opens a message; `head` is the family's own header (rtmsg, nfgenmsg, ...). Ends the one before.
  template <class Head>
  void message(std::uint16_t type, std::uint16_t flags, const Head& head) {
    begin(type, flags, std::string_view(reinterpret_cast<const char*>(&head), sizeof head));
  }

  void attribute(std::uint16_t type, std::string_view bytes);
  void text(std::uint16_t type, std::string_view text);  // with its NUL
  void big32(std::uint16_t type, std::uint32_t value);   // network order
  void host32(std::uint16_t type, std::uint32_t value);
  // Attributes up to the matching close() lie inside this one.
  void open(std::uint16_t type);
  void close();

  // Requests an answer to the message that is open. The last message of a batch needs one.
  void ask_for_answer();

  // Valid until the next call.
  std::string_view bytes();

 private:
  static constexpr std::size_t kMaxDepth = 8;
  void begin(std::uint16_t type, std::uint16_t flags, std::string_view head);
  void end_message();

  std::string out_;
  std::size_t message_ = 0;  // where the open message begins
  bool in_message_ = false;
  std::size_t nests_[kMaxDepth] = {};
  std::size_t depth_ = 0;
  std::uint32_t sequence_ = 0;
};

// A socket of `protocol` (NETLINK_ROUTE, NETLINK_NETFILTER) in the caller's network namespace.
Result<UniqueFd> open_netlink(int protocol);

// Sends a batch and reads the answers. Returns the first error of any message, or success. The
// batch's last message but a closing one must request an answer. `what` names the batch in errors.
Result<void> send_netlink(int socket_fd, std::string_view batch, std::string_view what);

}  // namespace cay::os
