/* Attacks on the kernel's interface, run inside a sandbox and, as the positive control, outside.
 *
 *   attack NAME...    prints a line for each: "NAME ok" or "NAME ERRNO-NAME"
 *   attack --list     prints the names
 *
 * Every attempt is harmless where it is allowed: arguments are chosen so that a kernel that lets
 * the call through answers something else than EPERM (a bad pointer, a bad descriptor, a bad flag),
 * or the effect ends with this process. Static, no library beyond C. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALL(name, ...) static long name(void) { __VA_ARGS__ }

static long in_child(long child) {
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return child;
}

/* Where it is allowed, what is mounted is mounted in a mount namespace of this process alone, and
   goes with it. */
static char place[64];
static void remove_place(void) { umount2(place, MNT_DETACH); rmdir(place); }
static const char *alone(void) {
  if (unshare(CLONE_NEWNS) == 0) mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
  strcpy(place, "/var/tmp/cay-attack-XXXXXX");
  if (mkdtemp(place) == NULL) exit(2);
  return place;
}
static long leaving(long result) { int e = errno; remove_place(); errno = e; return result; }

CALL(a_mount, return leaving(mount("none", alone(), "tmpfs", 0, NULL));)
CALL(a_mount_bind, return leaving(mount("/tmp", alone(), NULL, MS_BIND, NULL));)
CALL(a_remount_root, return syscall(SYS_mount, (void *)1, (void *)1, (void *)1, MS_REMOUNT, NULL);)
/* Of a directory that is no mount point, where mounting failed before: EINVAL if it is let
   through. */
CALL(a_umount, mount("none", alone(), "tmpfs", 0, NULL); return leaving(umount2(place, 0));)
CALL(a_pivot_root, mount("none", alone(), "tmpfs", 0, NULL); char old[80];
     snprintf(old, sizeof old, "%s/old", place); mkdir(old, 0700);
     long r = syscall(SYS_pivot_root, place, old); int e = errno;
     if (r == 0 && chroot("/old") != 0) exit(2);
     rmdir(old); errno = e; return leaving(r);)
CALL(a_fsopen, return syscall(SYS_fsopen, "no-such-type", 0);)
CALL(a_open_tree, return syscall(SYS_open_tree, AT_FDCWD, "/tmp", OPEN_TREE_CLONE | O_CLOEXEC);)
/* Of no descriptor, where there is no tree to be had: EBADF if it is let through. */
CALL(a_move_mount, alone(); int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/tmp",
     OPEN_TREE_CLONE | O_CLOEXEC);
     return leaving(syscall(SYS_move_mount, tree, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH));)
CALL(a_mount_setattr, return syscall(442, -1, "", 0, NULL, 0);)
CALL(a_finit_module, return syscall(SYS_finit_module, -1, "", 0);)
CALL(a_init_module, return syscall(SYS_init_module, NULL, 0, "");)
CALL(a_delete_module, return syscall(SYS_delete_module, NULL, O_NONBLOCK);)
CALL(a_io_uring_setup, return syscall(425, 1, NULL);)
CALL(a_io_uring_enter, return syscall(426, -1, 0, 0, 0, NULL, 0);)
CALL(a_bpf, return syscall(SYS_bpf, -1, NULL, 0);)
CALL(a_userfaultfd, return syscall(SYS_userfaultfd, ~0);)
CALL(a_keyctl, return syscall(SYS_keyctl, 0, -3, 0);)
CALL(a_add_key, return syscall(SYS_add_key, NULL, NULL, NULL, 0, 0);)
CALL(a_request_key, return syscall(SYS_request_key, NULL, NULL, NULL, 0);)
CALL(a_perf_event_open, return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);)
CALL(a_unshare_user, return unshare(CLONE_NEWUSER);)
CALL(a_clone_user, return in_child(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));)
CALL(a_clone_net, return in_child(syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));)
CALL(a_setns, return syscall(SYS_setns, -1, 0);)
CALL(a_kexec, return syscall(SYS_kexec_load, 0, ~0UL, NULL, ~0UL);)
CALL(a_reboot, return syscall(SYS_reboot, 0, 0, 0, NULL);)
/* An ordinary file without a swap header: EINVAL if it is let through. */
CALL(a_swapon, char n[64]; snprintf(n, sizeof n, "/var/tmp/cay-swap-%d", getpid());
     int f = open(n, O_RDWR | O_CREAT, 0600);
     if (f < 0 || ftruncate(f, 1 << 20) != 0) exit(2);
     long r = syscall(SYS_swapon, n, 0); int e = errno; unlink(n); errno = e; return r;)
CALL(a_quotactl, return syscall(SYS_quotactl, ~0, NULL, 0, NULL);)
CALL(a_acct, return syscall(SYS_acct, "/"); /* a directory: EISDIR if it is let through */)
CALL(a_clock_settime, return syscall(SYS_clock_settime, CLOCK_REALTIME, NULL);)
CALL(a_sethostname, return syscall(SYS_sethostname, NULL, -1);)
CALL(a_syslog, char b[8]; return syscall(SYS_syslog, 3, b, sizeof b);)
CALL(a_open_by_handle, return syscall(SYS_open_by_handle_at, -1, NULL, 0);)
CALL(a_fanotify, return syscall(SYS_fanotify_init, ~0, 0);)
CALL(a_pidfd_getfd, return syscall(438, -1, 0, 0);)
CALL(a_kcmp, return syscall(SYS_kcmp, 0, 0, 99, 0, 0);)
CALL(a_vmsplice, return syscall(SYS_vmsplice, -1, NULL, 0, 0);)
CALL(a_af_packet, return socket(AF_PACKET, SOCK_RAW, 0);)
CALL(a_af_vsock, return socket(AF_VSOCK, SOCK_STREAM, 0);)
CALL(a_netfilter, return socket(AF_NETLINK, SOCK_RAW, 12);)
CALL(a_read_implies_exec, return personality(READ_IMPLIES_EXEC);)
CALL(a_tiocsti, int m = posix_openpt(O_RDWR | O_NOCTTY);
     if (m < 0 || grantpt(m) || unlockpt(m)) return -1;
     int s = open(ptsname(m), O_RDWR); setsid(); ioctl(s, TIOCSCTTY, 0);
     long r = ioctl(s, TIOCSTI, "x"); if (r < 0 && errno == EIO) { errno = ENOTTY; } return r;)
CALL(a_line_discipline, int m = posix_openpt(O_RDWR | O_NOCTTY);
     if (m < 0 || grantpt(m) || unlockpt(m)) return -1;
     int s = open(ptsname(m), O_RDWR | O_NOCTTY); int null_discipline = 27;
     return ioctl(s, TIOCSETD, &null_discipline);)
CALL(a_mknod_disk, char n[64]; snprintf(n, sizeof n, "/var/tmp/cay-attack-%d", getpid());
     long r = mknod(n, S_IFBLK | 0600, makedev(7, 0)); int e = errno; unlink(n); errno = e;
     return r;)
CALL(a_raise_nofile, struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); l.rlim_max += 1;
     l.rlim_cur = l.rlim_max;
     return setrlimit(RLIMIT_NOFILE, &l);)
// The call reports success and has no effect.
CALL(a_raise_core, struct rlimit l = {4096, 4096}; if (setrlimit(RLIMIT_CORE, &l) != 0) return -1;
     getrlimit(RLIMIT_CORE, &l); errno = EPERM; return l.rlim_cur == 4096 ? 0 : -1;)
CALL(a_negative_nice, return setpriority(PRIO_PROCESS, 0, -5);)
CALL(a_realtime, struct sched_param p = {1}; return sched_setscheduler(0, SCHED_FIFO, &p);)
CALL(a_core_pattern, return open("/proc/sys/kernel/core_pattern", O_WRONLY);)
CALL(a_sysrq, return open("/proc/sysrq-trigger", O_WRONLY);)
/* An empty file may lie over it: opening that reads nothing. */
CALL(a_kcore, char b; int f = open("/proc/kcore", O_RDONLY); long r = f < 0 ? -1 : read(f, &b, 1);
     if (r == 0) { errno = EACCES; } return r == 1 ? 0 : -1;)
CALL(a_kmsg, return open("/proc/kmsg", O_RDONLY | O_NONBLOCK);)
CALL(a_sys_write, return open("/sys/kernel/mm/ksm/run", O_WRONLY);)
CALL(a_cap_sys_admin, return prctl(PR_CAPBSET_READ, 21) == 1 ? 0 : (errno = EPERM, -1);)
CALL(a_dev_mem, return open("/dev/mem", O_RDONLY);)
/* Allowed inside too: shows that the program itself is not what fails there. */
CALL(a_control_fork, return in_child(fork());)
CALL(a_control_socket, return socket(AF_INET, SOCK_STREAM, 0);)
CALL(a_control_mkfifo, char n[64]; snprintf(n, sizeof n, "/var/tmp/cay-fifo-%d", getpid());
     long r = mkfifo(n, 0600); unlink(n); return r;)
CALL(a_control_setuid, return setuid(1000);)

#define ENTRY(name) {#name, a_##name}
static const struct { const char *name; long (*run)(void); } kAttacks[] = {
    ENTRY(mount), ENTRY(mount_bind), ENTRY(remount_root), ENTRY(umount), ENTRY(pivot_root),
    ENTRY(fsopen),
    ENTRY(open_tree), ENTRY(move_mount), ENTRY(mount_setattr), ENTRY(finit_module),
    ENTRY(init_module),
    ENTRY(delete_module), ENTRY(io_uring_setup), ENTRY(io_uring_enter), ENTRY(bpf),
    ENTRY(userfaultfd),
    ENTRY(keyctl), ENTRY(add_key), ENTRY(request_key), ENTRY(perf_event_open), ENTRY(unshare_user),
    ENTRY(clone_user), ENTRY(clone_net), ENTRY(setns), ENTRY(kexec), ENTRY(reboot), ENTRY(swapon),
    ENTRY(quotactl), ENTRY(acct), ENTRY(clock_settime), ENTRY(sethostname), ENTRY(syslog),
    ENTRY(open_by_handle), ENTRY(fanotify), ENTRY(pidfd_getfd), ENTRY(kcmp), ENTRY(vmsplice),
    ENTRY(af_packet), ENTRY(af_vsock), ENTRY(netfilter), ENTRY(read_implies_exec), ENTRY(tiocsti),
    ENTRY(line_discipline),
    ENTRY(mknod_disk), ENTRY(raise_nofile), ENTRY(raise_core), ENTRY(negative_nice),
    ENTRY(realtime),
    ENTRY(core_pattern), ENTRY(sysrq), ENTRY(kcore), ENTRY(kmsg), ENTRY(sys_write),
    ENTRY(cap_sys_admin), ENTRY(dev_mem),
    ENTRY(control_fork), ENTRY(control_socket), ENTRY(control_mkfifo), ENTRY(control_setuid),
};

/* In a process of its own: some attempts change the caller where they succeed. */
static void attempt(const char *name, long (*run)(void)) {
  int out[2];
  if (pipe(out) != 0) exit(2);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    errno = 0;
    int err = run() < 0 ? errno : 0;
    if (write(out[1], &err, sizeof err) != sizeof err) _exit(2);
    _exit(0);
  }
  close(out[1]);
  int err = 0, status = 0;
  ssize_t got = read(out[0], &err, sizeof err);
  close(out[0]);
  waitpid(child, &status, 0);
  if (got != sizeof err) printf("%s SIGNAL-%d\n", name, WTERMSIG(status));
  else printf("%s %s\n", name, err == 0 ? "ok" : strerrorname_np(err));
}

int main(int argc, char **argv) {
  size_t count = sizeof kAttacks / sizeof kAttacks[0];
  for (size_t i = 0; i < count; ++i) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) puts(kAttacks[i].name);
    for (int j = 1; j < argc; ++j)
      if (strcmp(argv[j], kAttacks[i].name) == 0) attempt(kAttacks[i].name, kAttacks[i].run);
  }
  return 0;
}
