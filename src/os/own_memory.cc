#include "os/own_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

// The end of the program's variables: the linker defines it (end(3)). The heap begins behind it.
extern "C" const char program_end[] __asm__("end");

namespace cay::os {

// The sanitizers have their own heap and keep notes about the stack.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
void give_back_unused() {}
void give_back_heap() {}
#else
namespace {

// Below the frame: what this function's own calls may use. And the most that is looked at. Nothing
// else lies there, for the kernel keeps a gap of a mebibyte below each stack.
constexpr std::uintptr_t kOwnUse = 16 << 10;
constexpr std::uintptr_t kBelow = 512 << 10;

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// A part of the range may not be mapped: the kernel goes on behind it.
void drop(std::uintptr_t begin, std::uintptr_t end) {
  const std::uintptr_t page = page_size();
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void drop_stack() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  drop(here - kBelow, here - kOwnUse);
}

}  // namespace

void give_back_unused() {
  drop_stack();
  ::malloc_trim(0);
}

void give_back_heap() {
  drop_stack();
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  const auto data_end = reinterpret_cast<std::uintptr_t>(program_end);
  const std::uintptr_t size = ::mallinfo2().arena;
  if (size < end - data_end) drop(end - size, end);
}
#endif

}  // namespace cay::os
