/* What the kernel part of the program record (launcher/programs.bpf.c) hands to the keeper: plain
 * C, one layout for both. An event lies in the ring as its fixed part and as much of `text` as
 * `text_size` says. Nothing leaves the machine in this form; keeper and kernel part are of one
 * build. */
#ifndef CAY_WIRE_PROGRAM_EVENT_H
#define CAY_WIRE_PROGRAM_EVENT_H

#ifdef __bpf__
typedef unsigned int cay_u32;
typedef int cay_s32;
typedef unsigned long long cay_u64;
#else
#include <stdint.h>
typedef uint32_t cay_u32;
typedef int32_t cay_s32;
typedef uint64_t cay_u64;
#endif

#define CAY_PROGRAM_PATH 512  /* bytes kept of a path, with its NUL */
#define CAY_PROGRAM_ARGS 2048 /* of a program's arguments; longer ones are cut, and marked so */

#define CAY_PROGRAM_RING (1 << 20) /* bytes of a sandbox's ring */

enum {
  CAY_PROGRAM_START = 1, /* a process was forked */
  CAY_PROGRAM_EXEC = 2,  /* it runs a program from now on */
  CAY_PROGRAM_END = 3,   /* its last thread ended */
};

enum {
  CAY_PROGRAM_ARGS_CUT = 1,
  CAY_PROGRAM_ARGS_UNREAD =
      2, /* the kernel could not read them: swapped out, or changed by a tracer */
  CAY_PROGRAM_PATH_CUT = 4,
  CAY_PROGRAM_OOM = 8, /* the kernel's out-of-memory killer chose it */
};

struct cay_program_event {
  cay_u32 kind;
  cay_u32 flags;
  cay_u32 pid;        /* inside, as the sandbox's first namespace counts */
  cay_u32 parent;     /* the same; 0: outside */
  cay_u64 started_ns; /* of the process, CLOCK_BOOTTIME: with pid its identity */
  cay_u64 at_ns;      /* of the event, CLOCK_BOOTTIME */
  cay_u64 lost;       /* events of this sandbox that found no room before this one */
  cay_u32 uid;        /* the host's number */
  cay_s32 status;     /* an end: as wait(2) tells it */
  cay_u32 path_size;
  cay_u32 text_size; /* path, then arguments with a NUL after each */
  char text[CAY_PROGRAM_PATH + CAY_PROGRAM_ARGS];
};

/* One for each recorded sandbox, shared with its keeper. */
struct cay_program_state {
  cay_u64 lost; /* events that found no room in the ring */
  cay_u64 recorded;
};

#endif
