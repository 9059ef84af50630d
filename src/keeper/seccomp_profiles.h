// The profiles' changes to kGuestRules, as data: one line per call, with the reason. A line that
// changes nothing, or names a call that has no line there, does not compile.
// docs/decisions/0036-profiles.md has the reasons.
#pragma once
#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/profile.h"
#include "keeper/seccomp_rules.h"

namespace cay::keeper {

struct RuleChange {
  std::string_view name;
  Action action;
};

inline constexpr auto kStrictChanges = [] {
  using enum Action;
  // clang-format off
  return std::to_array<RuleChange>({
      // ---- one program does not reach into another, of the same user neither ----
      {"ptrace", kEperm},  // gdb, strace; a command could take over others, and their secrets
      {"process_vm_readv", kEperm},  // the same without stopping them
      {"process_vm_writev", kEperm},  // the same without stopping them
      // ---- what only programs with a lost privilege would use ----
      // CAP_SYS_CHROOT is dropped: of no use, and a way to confuse programs that keep it
      {"chroot", kEperm},
      // the query alone: its changes make exploits fit (no randomisation)
      {"personality", kPersonalityAsk},
      // ---- a means of exploits more than of programs ----
      // fakeroot (fakeroot-tcp works); messages are the usual way to lay out the kernel's heap
      {"msgget", kEnosys},
      {"msgsnd", kEnosys},  // the same
      {"msgrcv", kEnosys},  // the same
      {"msgctl", kEnosys},  // the same
  });
  // clang-format on
}();

inline constexpr auto kNestedChanges = [] {
  using enum Action;
  // clang-format off
  return std::to_array<RuleChange>({
      // ---- containers: each of these needs CAP_SYS_ADMIN in a user namespace, and root of the
      // sandbox has it in none but those made inside ----
      {"clone", kCloneNested},  // every runtime; still no CLONE_PARENT
      {"unshare", kAllow},  // unshare(1), bubblewrap, podman, runc
      {"setns", kAllow},  // nsenter, podman exec, runc exec
      {"mount", kAllow},  // all of them
      {"umount2", kAllow},  // all of them
      {"pivot_root", kAllow},  // bubblewrap, crun, runc
      {"sethostname", kAllow},  // crun, runc: the container's own UTS namespace
      // crun: binds the sandbox's /sys where a sysfs is refused, and has no other way
      {"open_tree", kAllow},
      {"move_mount", kAllow},  // crun: the same
      {"mount_setattr", kAllow},  // crun, podman: recursive read-only
      {"seccomp", kAllow},  // crun, runc, podman: each container has a filter of its own
      {"prctl", kPrctlNested},  // bubblewrap --seccomp, and libseccomp on old kernels: the same
      // ---- as from an older kernel, so that mount(2) is used for new file systems: these parse
      // options, and have a history of their own ----
      {"fsopen", kEnosys},  // util-linux, crun, runc fall back
      {"fsconfig", kEnosys},  // CVE-2022-0185; util-linux, crun, runc fall back
      {"fsmount", kEnosys},  // util-linux, crun, runc fall back
      {"fspick", kEnosys},  // util-linux falls back
      {"open_tree_attr", kEnosys},  // nobody yet; open_tree and mount_setattr do the same
      // crun and runc go on without a keyring of the container's own if there are no keyrings at
      // all
      {"keyctl", kEnosys},
      // ---- given for the lines above, which reach more of the kernel: its bugs are used so ----
      {"msgget", kEnosys},  // fakeroot (`unshare -r` works here); lays out the kernel's heap
      {"msgsnd", kEnosys},  // the same
      {"msgrcv", kEnosys},  // the same
      {"msgctl", kEnosys},  // the same
      {"process_vm_readv", kEperm},  // gdb reads by ptrace then
      {"process_vm_writev", kEperm},  // gdb writes by ptrace then
      {"mlockall", kEperm},  // chrony; RLIMIT_MEMLOCK, 8 MiB, refuses it to all but the smallest
      {"munlockall", kEperm},  // the same
      {"time", kEnosys},  // static programs built long ago; the vDSO answers others
  });
  // clang-format on
}();

constexpr std::span<const RuleChange> changes_of(Profile profile) {
  switch (profile) {
    case Profile::kDefault: return {};
    case Profile::kStrict: return kStrictChanges;
    case Profile::kNested: return kNestedChanges;
  }
  return {};
}

using GuestRules = std::remove_const_t<decltype(kGuestRules)>;

// kGuestRules with the profile's lines in their place.
constexpr GuestRules rules_of(Profile profile) {
  GuestRules rules = kGuestRules;
  for (const RuleChange& change : changes_of(profile)) {
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const SyscallRule& one) { return one.name == change.name; });
    if (rule == rules.end()) throw "a profile changes a call that has no line";
    if (rule->action == change.action)
      throw "a profile's line changes nothing, or there are two of it";
    rule->action = change.action;
  }
  return rules;
}

// A profile's filter in two parts, for a zygote (zygote.h). It loads the first, and each command's
// child the small second one. The kernel takes the stricter answer of the two, so together they are
// the profile. Between the two lie the calls that make and enter a child.
inline constexpr std::string_view kEntryCalls[] = {"clone3", "unshare", "seccomp"};

constexpr bool is_entry_call(const SyscallRule& rule) {
  return std::ranges::find(kEntryCalls, rule.name) != std::end(kEntryCalls);
}

// All of the profile but for the entry calls.
constexpr GuestRules rules_ahead(Profile profile) {
  GuestRules rules = rules_of(profile);
  for (SyscallRule& rule : rules) {
    if (is_entry_call(rule)) rule.action = Action::kAllow;
  }
  return rules;
}

// The profile's lines for the entry calls alone.
constexpr GuestRules rules_at_last(Profile profile) {
  GuestRules rules = rules_of(profile);
  for (SyscallRule& rule : rules) {
    if (!is_entry_call(rule)) rule.action = Action::kAllow;
  }
  return rules;
}

}  // namespace cay::keeper
