// Memory of the calling process that it gives back to the kernel. A process that was forked keeps
// copies of what its parent had, most of which it never reads.
#pragma once

namespace cay::os {

// Gives back the pages of the stack below the caller's frame, and the heap's free pages.
void give_back_unused();

// Gives back the pages of the stack below the caller's frame, and the whole heap. The process must
// not allocate, free or read anything there afterwards. It has one thread.
void give_back_heap();

}  // namespace cay::os
