#include "async/kernel_pipe.h"

#include <fcntl.h>

#include <cerrno>
#include <vector>

#include "base/bounded_call.h"

namespace cay {
namespace {

constexpr std::size_t kSpare = 16;
// Bytes, as F_SETPIPE_SZ counts: one slot for each page. A slot holds one buffer of a socket, so a
// smaller pipe is full before it holds kMost.
constexpr int kSlots = 1024 * 1024;

struct Spare {
  UniqueFd out, in;
};

std::vector<Spare>& spares() {
  thread_local std::vector<Spare> all;
  return all;
}

}  // namespace

KernelPipe::KernelPipe(KernelPipe&& other) noexcept
    : out_(std::move(other.out_)),
      in_(std::move(other.in_)),
      held_(std::exchange(other.held_, 0)),
      whole_(other.whole_) {}

KernelPipe& KernelPipe::operator=(KernelPipe&& other) noexcept {
  if (this != &other) {
    let_go();
    out_ = std::move(other.out_);
    in_ = std::move(other.in_);
    held_ = std::exchange(other.held_, 0);
    whole_ = other.whole_;
  }
  return *this;
}

KernelPipe::~KernelPipe() { let_go(); }

void KernelPipe::let_go() {
  if (out_ && whole_ && held_ == 0 && spares().size() < kSpare)
    spares().push_back({std::move(out_), std::move(in_)});
  out_.reset();
  in_.reset();
  held_ = 0;
}

Result<KernelPipe> KernelPipe::make() {
  if (auto& kept = spares(); !kept.empty()) {
    Spare one = std::move(kept.back());
    kept.pop_back();
    return KernelPipe(std::move(one.out), std::move(one.in), true);
  }
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error{Code::kExhausted, "no_descriptors",
                 "no more files can be opened: some connections have to end first", errno};
  }
  const bool whole =
      ::fcntl(ends[1], F_SETPIPE_SZ, kSlots) >= kSlots;  // a smaller one is slower, and as good
  return KernelPipe(UniqueFd(ends[0]), UniqueFd(ends[1]), whole);
}

ssize_t KernelPipe::take(int socket, std::size_t most) {
  const ssize_t got = bounded([&] {
    return ::splice(socket, nullptr, in_.get(), nullptr, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  });
  if (got > 0) held_ += static_cast<std::size_t>(got);
  return got;
}

ssize_t KernelPipe::give(int socket) {
  const ssize_t gone = bounded([&] {
    return ::splice(out_.get(), nullptr, socket, nullptr, held_, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  });
  if (gone > 0) held_ -= static_cast<std::size_t>(gone);
  return gone;
}

}  // namespace cay
