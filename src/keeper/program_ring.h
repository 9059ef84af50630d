// ProgramRing: the reading end of a BPF ring buffer (kernel/bpf/ringbuf.c) and of the counters
// beside it, both shared with the kernel. One reader. Needs no privilege but the descriptors.
//
// Layout of a ring's mapping: one page with the reader's position, one with the kernel's, and then
// the data, mapped twice in a row so that no record is ever in two pieces. A record is u32 length
// with two flag bits | u32 | payload, rounded up to 8 bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "wire/program_event.h"

namespace cay::keeper {

class ProgramRing {
 public:
  ProgramRing() = default;
  static Result<ProgramRing> map(int ring_fd, int state_fd, std::size_t size = CAY_PROGRAM_RING);
  ~ProgramRing();
  ProgramRing(ProgramRing&& other) noexcept { *this = std::move(other); }
  ProgramRing& operator=(ProgramRing&& other) noexcept;

  explicit operator bool() const { return data_ != nullptr; }

  // Calls with every record that is whole, at most a ring's worth: writers go on meanwhile. False:
  // there are more.
  bool drain(const std::function<void(const cay_program_event&, std::size_t size)>& called);
  // Records that found no room, ever.
  std::uint64_t lost() const;

 private:
  std::uint64_t* reader_ = nullptr;
  const std::uint64_t* writer_ = nullptr;  // the mapping begins here
  const char* data_ = nullptr;
  const cay_program_state* state_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cay::keeper
