// KernelPipe: bytes on their way from one socket to another that are never copied into this program
// (splice(2)).
#pragma once
#include <sys/types.h>

#include <cstddef>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay {

// Belongs to one loop: an emptied pipe is kept for the next KernelPipe of the same thread.
class KernelPipe {
 public:
  static constexpr std::size_t kMost = 1 << 20;  // bytes of one take(); the kernel may give fewer

  KernelPipe() = default;  // none, with nothing in it
  KernelPipe(KernelPipe&& other) noexcept;
  KernelPipe& operator=(KernelPipe&& other) noexcept;
  ~KernelPipe();

  // kExhausted no_descriptors.
  static Result<KernelPipe> make();

  std::size_t size() const { return held_; }
  bool empty() const { return held_ == 0; }

  // Moves the bytes that the socket has, at most `most`, into an empty pipe. Returns 0 at the end
  // of the stream, and -1 with errno on failure. ETIMEDOUT, here and below: another owner of the
  // same open file made the call wait (base/bounded_call.h).
  ssize_t take(int socket, std::size_t most);
  // As much of it as the socket accepts now. -1: see errno. (A socket that is broken raises
  // SIGPIPE.)
  ssize_t give(int socket);

 private:
  KernelPipe(UniqueFd out, UniqueFd in, bool whole)
      : out_(std::move(out)), in_(std::move(in)), whole_(whole) {}
  void let_go();

  UniqueFd out_, in_;
  std::size_t held_ = 0;
  bool whole_ = false;  // of full size: the user's share of pipes was not used up when it was made,
                        // and it is worth keeping
};

}  // namespace cay
