/* The kernel part of the program record: three tracepoints that tell of processes that start, run a
 * program and end, for sandboxes that asked for it (docs/decisions/0012-program-record.md).
 *
 * It runs at every fork, exec and exit of the host while any sandbox is recorded, so what it does
 * first is to find out, in a few loads and one lookup, whether the process is of such a sandbox: by
 * the cgroup that it is in, which nothing inside can leave. Nothing here trusts a value that a
 * process can write, but for the arguments, which are read when the kernel has just put them there.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "launcher/kernel_pid.bpf.h"
#include "wire/program_event.h"

/* The kernel gives some helpers to programs of a GPL-compatible licence only: this file, and no
 * other of Cay, may also be used under the GNU General Public License, version 2. */
char cay_license[] SEC("license") = "GPL";

#define MAX_SANDBOXES 4096
#define ALREADY_THERE (-17) /* EEXIST */
#define SIGNAL_GROUP_EXIT 4 /* linux/sched/signal.h */
#define MAX_NAMESPACES 4    /* a guest's own pid namespaces below the sandbox's that are followed */

/* Of the kernel's structures, what is read here; libbpf puts in the offsets of the kernel that
 * runs. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
  unsigned long long id;
};
struct cgroup;
struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent;
};
struct cgroup {
  struct cgroup_subsys_state self;
  struct kernfs_node* kn;
};
struct css_set {
  struct cgroup* dfl_cgrp;
};
typedef struct {
  unsigned int val;
} kuid_t;
struct mm_struct {
  unsigned long arg_start;
  unsigned long arg_end;
};
struct signal_struct {
  atomic_t live;
  int group_exit_code;
  struct mm_struct* oom_mm;
  unsigned int flags;
};
struct cred {
  kuid_t uid;
};
struct task_struct {
  int pid;
  int tgid;
  int exit_code;
  unsigned long long start_boottime;
  struct task_struct* real_parent;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct signal_struct* signal;
  struct css_set* cgroups;
  struct mm_struct* mm;
  const struct cred* cred;
};
struct linux_binprm {
  const char* filename;
};
#pragma clang attribute pop

struct ring {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
};
struct state {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(key_size,
         sizeof(cay_u32)); /* by size: libbpf cannot follow a type from inside another map */
  __uint(value_size, sizeof(struct cay_program_state));
};

/* By the id of the cgroup that holds the sandbox's command slots. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
  __uint(max_entries, MAX_SANDBOXES);
  __type(key, cay_u64);
  __array(values, struct ring);
} cay_rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
  __uint(max_entries, MAX_SANDBOXES);
  __type(key, cay_u64);
  __array(values, struct state);
} cay_states SEC(".maps");

/* An event is put together here: it is too big for the stack. Tracepoints run with preemption off.
 */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, cay_u32);
  __type(value, struct cay_program_event);
} cay_scratch SEC(".maps");

/* Two threads that end at once may both see that none is left: the first to come here tells the
 * end. */
struct ended {
  cay_u64 started;
  cay_u64 tgid;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct ended);
  __type(value, char);
} cay_ended SEC(".maps");

/* The group that may hold a recorded sandbox's slots, if `task` is in one of them. A child may have
 * been cloned straight into its slot by a parent outside. */
static __always_inline cay_u64 sandbox_of(struct task_struct* task) {
  return BPF_CORE_READ(task, cgroups, dfl_cgrp, self.parent, cgroup, kn, id);
}

/* At which level of pid namespaces the sandbox of `pid` is; 0: `pid` is not inside. */
static __always_inline unsigned int level_inside(struct pid* pid) {
  unsigned int level = BPF_CORE_READ(pid, level);
  for (int i = 0; i <= MAX_NAMESPACES; ++i) {
    struct upid* upid;
    struct pid_namespace* ns;
    if (level < (unsigned int)i) return 0;
    upid = (void*)pid + bpf_core_field_offset(struct pid, numbers) +
           (level - i) * bpf_core_type_size(struct upid);
    ns = BPF_CORE_READ(upid, ns);
    if (BPF_CORE_READ(ns, ns.inum) == outer_namespace) return i == 0 ? 0 : level - i + 1;
  }
  return 0;
}

/* The number of a process at that level; 0: it has none there. */
static __always_inline cay_u32 number_at(struct task_struct* task, unsigned int level) {
  struct pid* pid = BPF_CORE_READ(task, thread_pid);
  struct upid* upid;
  if (!pid || BPF_CORE_READ(pid, level) < level) return 0;
  upid = (void*)pid + bpf_core_field_offset(struct pid, numbers) +
         level * bpf_core_type_size(struct upid);
  return BPF_CORE_READ(upid, nr);
}

static __always_inline struct cay_program_event* begin(struct cay_program_state* state,
                                                       cay_u32 kind, struct task_struct* leader,
                                                       unsigned int level) {
  cay_u32 zero = 0;
  struct cay_program_event* event = bpf_map_lookup_elem(&cay_scratch, &zero);
  if (!event) return 0;
  event->kind = kind;
  event->flags = 0;
  event->pid = number_at(leader, level);
  event->parent = number_at(BPF_CORE_READ(leader, real_parent, group_leader), level);
  event->started_ns = BPF_CORE_READ(leader, start_boottime);
  event->at_ns = bpf_ktime_get_boot_ns();
  event->lost = state->lost;
  event->uid = BPF_CORE_READ(leader, cred, uid.val);
  event->status = 0;
  event->path_size = 0;
  event->text_size = 0;
  return event;
}

static __always_inline void put(cay_u64 id, struct cay_program_state* state,
                                struct cay_program_event* event) {
  void* ring = bpf_map_lookup_elem(&cay_rings, &id);
  cay_u64 size = __builtin_offsetof(struct cay_program_event, text);
  cay_u32 text = event->text_size;
  if (text > sizeof event->text) text = sizeof event->text;
  size += text;
  if (ring && bpf_ringbuf_output(ring, event, size, 0) == 0) {
    __sync_fetch_and_add(&state->recorded, 1);
  } else {
    __sync_fetch_and_add(&state->lost, 1);
  }
}

static __always_inline struct cay_program_state* state_of(cay_u64 id) {
  cay_u32 zero = 0;
  void* map = id ? bpf_map_lookup_elem(&cay_states, &id) : 0;
  return map ? bpf_map_lookup_elem(map, &zero) : 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(cay_on_fork, struct task_struct* parent, struct task_struct* child) {
  cay_u64 id = sandbox_of(child);
  struct cay_program_state* state = state_of(id);
  struct cay_program_event* event;
  unsigned int level;
  if (!state) return 0;
  if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid)) return 0; /* a thread */
  level = level_inside(BPF_CORE_READ(child, thread_pid));
  if (!level) return 0;
  event = begin(state, CAY_PROGRAM_START, child, level);
  if (event) put(id, state, event);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(cay_on_exec, struct task_struct* task, int old_pid, struct linux_binprm* bprm) {
  cay_u64 id = sandbox_of(task);
  struct cay_program_state* state = state_of(id);
  struct cay_program_event* event;
  struct mm_struct* mm;
  unsigned long start, end;
  unsigned int level;
  cay_u64 size, args;
  long read;
  if (!state) return 0;
  level = level_inside(BPF_CORE_READ(task, thread_pid));
  if (!level) return 0;
  event = begin(state, CAY_PROGRAM_EXEC, task, level);
  if (!event) return 0;
  read = bpf_probe_read_kernel_str(event->text, CAY_PROGRAM_PATH, BPF_CORE_READ(bprm, filename));
  if (read == CAY_PROGRAM_PATH) event->flags |= CAY_PROGRAM_PATH_CUT;
  size = read > 0 ? read - 1 : 0;
  if (size >= CAY_PROGRAM_PATH) size = CAY_PROGRAM_PATH - 1;
  event->path_size = size;
  mm = BPF_CORE_READ(task, mm);
  start = BPF_CORE_READ(mm, arg_start);
  end = BPF_CORE_READ(mm, arg_end);
  args = end - start;
  if (args > CAY_PROGRAM_ARGS) {
    args = CAY_PROGRAM_ARGS;
    event->flags |= CAY_PROGRAM_ARGS_CUT;
  }
  if (args > 0 && bpf_probe_read_user(event->text + size, args, (void*)start) != 0) {
    event->flags |= CAY_PROGRAM_ARGS_UNREAD;
    args = 0;
  }
  event->text_size = size + args;
  put(id, state, event);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(cay_on_exit, struct task_struct* task) {
  cay_u64 id = sandbox_of(task);
  struct cay_program_state* state = state_of(id);
  struct cay_program_event* event;
  struct task_struct* leader;
  struct ended key = {};
  unsigned int level;
  char one = 1;
  if (!state) return 0;
  if (BPF_CORE_READ(task, signal, live.counter) != 0) return 0; /* other threads go on */
  leader = BPF_CORE_READ(task, group_leader);
  level = level_inside(BPF_CORE_READ(leader, thread_pid));
  if (!level) return 0;
  key.started = BPF_CORE_READ(leader, start_boottime);
  key.tgid = BPF_CORE_READ(leader, tgid);
  /* As an int: before Linux 6.4 that is what a map's own function returns, and the upper half of
   * the register is not extended from it. */
  if ((int)bpf_map_update_elem(&cay_ended, &key, &one, BPF_NOEXIST) == ALREADY_THERE) return 0;
  event = begin(state, CAY_PROGRAM_END, leader, level);
  if (!event) return 0;
  /* As the kernel answers wait(2): kernel/exit.c, wait_task_zombie. */
  if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT) {
    event->status = BPF_CORE_READ(task, signal, group_exit_code);
  } else {
    event->status = BPF_CORE_READ(leader, exit_code);
  }
  if (BPF_CORE_READ(task, signal, oom_mm)) event->flags |= CAY_PROGRAM_OOM;
  put(id, state, event);
  return 0;
}
