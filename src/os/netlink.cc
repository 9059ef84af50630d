#include "os/netlink.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/assert.h"

namespace cay::os {
namespace {

constexpr std::size_t padded(std::size_t size) {
  return (size + NLMSG_ALIGNTO - 1) & ~std::size_t{NLMSG_ALIGNTO - 1};
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

void NetlinkBatch::begin(std::uint16_t type, std::uint16_t flags, std::string_view head) {
  end_message();
  message_ = out_.size();
  in_message_ = true;
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
  header.nlmsg_seq = ++sequence_;
  out_ += bytes_of(header);
  out_ += head;
  out_.resize(padded(out_.size()));
}

void NetlinkBatch::end_message() {
  if (!in_message_) return;
  CAY_ASSERT(depth_ == 0);
  const auto length = static_cast<std::uint32_t>(out_.size() - message_);
  std::memcpy(out_.data() + message_, &length, sizeof length);
  in_message_ = false;
}

void NetlinkBatch::attribute(std::uint16_t type, std::string_view bytes) {
  nlattr header{};
  header.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + bytes.size());
  header.nla_type = type;
  out_ += bytes_of(header);
  out_ += bytes;
  out_.resize(padded(out_.size()));
}

void NetlinkBatch::text(std::uint16_t type, std::string_view text) {
  attribute(type, std::string(text) + '\0');
}

void NetlinkBatch::big32(std::uint16_t type, std::uint32_t value) {
  attribute(type, bytes_of(htonl(value)));
}

void NetlinkBatch::host32(std::uint16_t type, std::uint32_t value) {
  attribute(type, bytes_of(value));
}

void NetlinkBatch::open(std::uint16_t type) {
  CAY_ASSERT(depth_ < kMaxDepth);
  nests_[depth_++] = out_.size();
  attribute(static_cast<std::uint16_t>(type | NLA_F_NESTED), {});
}

void NetlinkBatch::close() {
  CAY_ASSERT(depth_ > 0);
  const std::size_t at = nests_[--depth_];
  const auto length = static_cast<std::uint16_t>(out_.size() - at);
  std::memcpy(out_.data() + at, &length, sizeof length);
}

void NetlinkBatch::ask_for_answer() {
  CAY_ASSERT(in_message_);
  std::uint16_t flags = 0;
  char* const at = out_.data() + message_ + offsetof(nlmsghdr, nlmsg_flags);
  std::memcpy(&flags, at, sizeof flags);
  flags |= NLM_F_ACK;
  std::memcpy(at, &flags, sizeof flags);
}

std::string_view NetlinkBatch::bytes() {
  end_message();
  return out_;
}

Result<UniqueFd> open_netlink(int protocol) {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!fd) return Error::from_errno(errno, "open a netlink socket");
  return fd;
}

Result<void> send_netlink(int socket_fd, std::string_view batch, std::string_view what) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const ssize_t sent = ::sendto(socket_fd, batch.data(), batch.size(), 0,
                                reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
  if (sent != static_cast<ssize_t>(batch.size()))
    return Error::from_errno(sent < 0 ? errno : EMSGSIZE, what);
  // The kernel works while sendto() runs: its answers are here by now.
  bool answered = false;
  alignas(nlmsghdr) std::array<char, 16 * 1024> buffer;
  for (;;) {
    const ssize_t got = ::recv(socket_fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got < 0) return Error::from_errno(errno, what);
    std::size_t left = static_cast<std::size_t>(got);
    const char* at = buffer.data();
    while (left >= sizeof(nlmsghdr)) {
      nlmsghdr header{};
      std::memcpy(&header, at, sizeof header);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > left) break;
      if (header.nlmsg_type == NLMSG_ERROR &&
          header.nlmsg_len >= sizeof header + sizeof(nlmsgerr)) {
        nlmsgerr answer{};
        std::memcpy(&answer, at + sizeof header, sizeof answer);
        if (answer.error != 0) {
          return Error::from_errno(-answer.error, std::string(what) + " (message " +
                                                      std::to_string(answer.msg.nlmsg_seq) + ")");
        }
        answered = true;
      }
      const std::size_t step = std::min(padded(header.nlmsg_len), left);
      at += step;
      left -= step;
    }
  }
  if (!answered)
    return Error{Code::kInternal, "os_error", std::string(what) + ": the kernel did not answer",
                 EPROTO};
  return {};
}

}  // namespace cay::os
