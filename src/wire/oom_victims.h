/* What the kernel part that names the victims of the kernel's out-of-memory killer
 * (launcher/oom_victims.bpf.c) shares with every keeper: one page after another of the last victims
 * on this machine, read only to them. Plain C, one layout for both; nothing leaves the machine in
 * this form. docs/decisions/0018-out-of-memory.md. */
#ifndef CAY_WIRE_OOM_VICTIMS_H
#define CAY_WIRE_OOM_VICTIMS_H

#ifdef __bpf__
typedef unsigned int cay_u32;
typedef unsigned long long cay_u64;
#else
#include <stdint.h>
typedef uint32_t cay_u32;
typedef uint64_t cay_u64;
#endif

#define CAY_OOM_VICTIMS 1024 /* kept; a power of two */

struct cay_oom_victim {
  cay_u64 number; /* 1, 2, 3 …: written last */
  cay_u64 group;  /* id of its cgroup of the unified hierarchy */
  cay_u64 kills;  /* its memory group's own count of kills (oom_kill), this one included */
  cay_u32 pid;    /* of the process, as the launcher counts; 0: it has no number there */
  cay_u32 shares; /* others have its memory, and are killed with it unnamed */
};

struct cay_oom_victims {
  cay_u64 count; /* ever; the last one is at (count - 1) % CAY_OOM_VICTIMS */
  cay_u64 unused[7];
  struct cay_oom_victim last[CAY_OOM_VICTIMS];
};

#endif
