/* Names the processes that the kernel's out-of-memory killer chooses: cgroups count its kills, and
 * do not say whom (docs/decisions/0018-out-of-memory.md).
 *
 * It runs once for each victim, when the kill has been counted and sent and before the victim can
 * be reaped: the killer holds the lock of the victim's memory, which its end needs too. At no other
 * time does it cost anything.
 *
 * The tracepoint tells the task since Linux 6.9, and in late releases of older ones (Debian
 * 12's 6.1); before, it told a number alone, and the kernel refuses this program. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "launcher/kernel_pid.bpf.h"
#include "wire/oom_victims.h"

/* As in programs.bpf.c: this file may also be used under the GNU General Public License, version 2.
 */
char cay_license[] SEC("license") = "GPL";

#define MAX_LEVELS 32 /* of pid namespaces: the kernel allows no more */

/* Of the kernel's structures, what is read here; libbpf puts in the offsets of the kernel that
 * runs. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct {
  long long counter;
} atomic64_t;
struct kernfs_node {
  unsigned long long id;
};
struct cgroup {
  struct kernfs_node* kn;
};
struct cgroup_subsys_state;
struct css_set {
  struct cgroup_subsys_state* subsys[1];
  struct cgroup* dfl_cgrp;
};
struct mem_cgroup {
  atomic64_t memory_events_local[1]; /* its cgroup_subsys_state is its first member */
};
struct mm_struct {
  atomic_t mm_users;
};
struct signal_struct {
  int nr_threads;
};
struct completion;
struct task_struct {
  int pid;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct signal_struct* signal;
  struct css_set* cgroups;
  struct mm_struct* mm;
  struct completion* vfork_done;
};
#pragma clang attribute pop

/* Their values are the running kernel's too. */
enum cgroup_subsys_id { memory_cgrp_id = 4 };
enum memcg_memory_event { MEMCG_OOM_KILL = 4 };

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, cay_u32);
  __type(value, struct cay_oom_victims);
} cay_victims SEC(".maps");

/* The number of a process in the launcher's namespace; 0: none. */
static __always_inline cay_u32 number_outside(struct pid* pid) {
  unsigned int level = BPF_CORE_READ(pid, level);
  for (unsigned int i = 0; i <= MAX_LEVELS; ++i) {
    struct upid* upid;
    struct pid_namespace* ns;
    if (i > level) return 0;
    upid = (void*)pid + bpf_core_field_offset(struct pid, numbers) +
           i * bpf_core_type_size(struct upid);
    ns = BPF_CORE_READ(upid, ns);
    if (BPF_CORE_READ(ns, ns.inum) == outer_namespace) return BPF_CORE_READ(upid, nr);
  }
  return 0;
}

static __always_inline cay_u64 kills_of(struct css_set* set) {
  struct cgroup_subsys_state* group = 0;
  cay_u64 kills = 0;
  bpf_probe_read_kernel(
      &group, sizeof group,
      (void*)set + bpf_core_field_offset(struct css_set, subsys) +
          bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof group);
  if (!group) return 0;
  bpf_probe_read_kernel(
      &kills, sizeof kills,
      (void*)group + bpf_core_field_offset(struct mem_cgroup, memory_events_local) +
          bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM_KILL) * sizeof kills);
  return kills;
}

static __always_inline int put(struct task_struct* task) {
  cay_u32 zero = 0;
  struct cay_oom_victims* all = bpf_map_lookup_elem(&cay_victims, &zero);
  struct cay_oom_victim* one;
  cay_u64 index;
  if (!all) return 0;
  index = __sync_fetch_and_add(&all->count, 1);
  one = &all->last[index % CAY_OOM_VICTIMS];
  one->number = 0;
  one->group = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
  one->kills = kills_of(BPF_CORE_READ(task, cgroups));
  one->pid = number_outside(BPF_CORE_READ(task, group_leader, thread_pid));
  one->shares = BPF_CORE_READ(task, vfork_done) != 0 ||
                BPF_CORE_READ(task, mm, mm_users.counter) > BPF_CORE_READ(task, signal, nr_threads);
  __sync_fetch_and_add(&one->number, index + 1);
  return 0;
}

SEC("tp_btf/mark_victim")
int BPF_PROG(cay_on_victim, struct task_struct* task) {
  /* Read as a task, not by address: a number cannot be. */
  if (task->pid == 0) return 0;
  return put(task);
}
