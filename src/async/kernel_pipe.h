// KernelPipe: bytes on their way from one socket to another that are never copied into this program (splice(2)).
#pragma once
#include <sys/types.h>

#include <cstddef>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay {

// Of one loop: pipes that were emptied are kept for the next one of the same thread.
class KernelPipe {
 public:
  static constexpr std::size_t kMost = 1 << 20;  // to ask for at once; the kernel's own limits are below

  KernelPipe() = default;  // none, with nothing in it
  KernelPipe(KernelPipe&& other) noexcept;
  KernelPipe& operator=(KernelPipe&& other) noexcept;
  ~KernelPipe();

  // kExhausted no_descriptors.
  static Result<KernelPipe> make();

  std::size_t size() const { return held_; }
  bool empty() const { return held_ == 0; }

  // What the socket has now, at most `most` bytes, into an empty pipe. 0: its end; -1: see errno. ETIMEDOUT, here and below: somebody
  // who has the same open file made it wait (base/bounded_call.h).
  ssize_t take(int socket, std::size_t most);
  // As much of it as the socket accepts now. -1: see errno. (A socket that is broken raises SIGPIPE.)
  ssize_t give(int socket);

 private:
  KernelPipe(UniqueFd out, UniqueFd in, bool whole) : out_(std::move(out)), in_(std::move(in)), whole_(whole) {}
  void let_go();

  UniqueFd out_, in_;
  std::size_t held_ = 0;
  bool whole_ = false;  // of full size: the user's share of pipes was not used up when it was made, and it is worth keeping
};

}  // namespace cay
