/* What the kernel parts know of process numbers: a struct pid has one for each pid namespace that
 * it is seen from, the outermost first. As in programs.bpf.c: this file may also be used under the
 * GNU General Public License, version 2. */
#pragma once

/* Of the kernel's structures, what is read here; libbpf puts in the offsets of the kernel that
 * runs. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
  unsigned int inum;
};
struct pid_namespace {
  struct ns_common ns;
};
struct upid {
  int nr;
  struct pid_namespace* ns;
};
struct pid {
  unsigned int level;
  struct upid numbers[1];
};
typedef struct {
  int counter;
} atomic_t;
#pragma clang attribute pop

/* The launcher's own pid namespace: a sandbox's is its child. */
const volatile unsigned int outer_namespace = 0;
