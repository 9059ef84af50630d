/* Makes a process that is as a given process of a sandbox is, but for the walls named: the control
 * of an attack.
 *
 *   stand_in PID [--without WALL | --take NAMESPACE=PID | --leak PATH]... [--in-place] [--cwd DIR]
 * -- PROGRAM [ARG...]
 *
 * PID (a host pid) is a program that the product started in a sandbox. What it has is read from the
 * kernel, not from the product's sources: its namespaces, ids, capability sets, limits, cgroups,
 * and the very filter that was loaded. Host root runs this; it is of the tests alone.
 *
 * WALL: filter caps limits cgroup user pid mount net ipc uts cgroupns time, each left out as a
 * whole; namespaces       how many namespaces the sandbox may make is raised while the program
 * runs: the sandbox's own count, for all in it pivot            the same tree by chroot() in the
 * host's mounts mask:PATH        what covers PATH is taken off ro:PATH nodev:PATH nosuid:PATH
 * noexec:PATH    the flag of the mount at PATH is cleared host:FROM=TO     the host's FROM is
 * attached at TO Mounts are changed in a copy of the sandbox's mount namespace; --in-place changes
 * the sandbox itself, so that the product is broken for a test of the tests. --take: that namespace
 * is another sandbox's. --leak: descriptor 7 is the host's PATH. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMost = 32 };
#define GET_FILTER \
  ((enum __ptrace_request)0x420c) /* PTRACE_SECCOMP_GET_FILTER, which glibc does not name */
static const char *walls[kMost], *taken[kMost];
static int wall_count, taken_count;
static const char *leak, *cwd;
static int in_place;

static void die(const char* format, ...) {
  int err = errno;
  va_list args;
  va_start(args, format);
  fprintf(stderr, "stand_in: ");
  vfprintf(stderr, format, args);
  fprintf(stderr, ": %s\n", strerror(err));
  exit(120);
}
static int without(const char* wall) {
  for (int i = 0; i < wall_count; ++i)
    if (strcmp(walls[i], wall) == 0) return 1;
  return 0;
}
static const char* rest_of(const char* text, const char* head) {
  size_t length = strlen(head);
  return strncmp(text, head, length) == 0 ? text + length : NULL;
}
static int open_proc(int pid, const char* name, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) die("open %s", path);
  return fd;
}
/* The process whose namespace of that kind is joined. */
static int source_of(const char* name, int pid) {
  for (int i = 0; i < taken_count; ++i) {
    const char* other = rest_of(taken[i], name);
    if (other != NULL && *other == '=') return atoi(other + 1);
  }
  return pid;
}
static int namespace(const char* name, int pid) {
  char path[32];
  snprintf(path, sizeof path, "ns/%s", name);
  return open_proc(source_of(name, pid), path, O_RDONLY);
}

/* ---- what the model has ---- */

static struct sock_fprog filters[4];
static int filter_count;
static void read_filters(int pid) {
  int status;
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0)
    die("trace %d", pid);
  if (waitpid(pid, &status, __WALL) != pid) die("wait for %d", pid);
  for (int i = 0; i < 4; ++i) {
    long length = ptrace(GET_FILTER, pid, i, NULL);
    if (length < 0 && errno == ENOENT) break;
    if (length <= 0) die("read the filter of %d (CONFIG_CHECKPOINT_RESTORE)", pid);
    filters[i].len = (unsigned short)length;
    filters[i].filter = calloc((size_t)length, sizeof(struct sock_filter));
    if (ptrace(GET_FILTER, pid, i, filters[i].filter) != length) die("read the filter of %d", pid);
    filter_count = i + 1;
  }
  ptrace(PTRACE_DETACH, pid, 0, 0);
  if (filter_count == 0) {
    errno = ENOENT;
    die("%d has no filter", pid);
  }
}

static uint64_t cap_inheritable, cap_permitted, cap_effective, cap_bounding;
static unsigned uid, gid, no_new_privs;
static gid_t groups[64];
static int group_count;
static unsigned inside(int pid, const char* map, unsigned id) {
  FILE* file = fdopen(open_proc(pid, map, O_RDONLY), "r");
  unsigned in, out, count;
  while (fscanf(file, "%u %u %u", &in, &out, &count) == 3)
    if (id - out < count) {
      fclose(file);
      return in + id - out;
    }
  errno = EOVERFLOW;
  die("%s of %d has no %u", map, pid, id);
  return 0;
}
static void read_status(int pid) {
  FILE* file = fdopen(open_proc(pid, "status", O_RDONLY), "r");
  char line[4096];
  while (fgets(line, sizeof line, file)) {
    unsigned id;
    sscanf(line, "CapInh: %lx", &cap_inheritable);
    sscanf(line, "CapPrm: %lx", &cap_permitted);
    sscanf(line, "CapEff: %lx", &cap_effective);
    sscanf(line, "CapBnd: %lx", &cap_bounding);
    sscanf(line, "NoNewPrivs: %u", &no_new_privs);
    if (sscanf(line, "Uid: %u", &id) == 1) uid = inside(pid, "uid_map", id);
    if (sscanf(line, "Gid: %u", &id) == 1) gid = inside(pid, "gid_map", id);
    const char* list = rest_of(line, "Groups:");
    for (char* end; list != NULL; list = end) {
      unsigned long one = strtoul(list, &end, 10);
      if (end == list || group_count == 64) break;
      groups[group_count++] = inside(pid, "gid_map", (unsigned)one);
    }
  }
  fclose(file);
}
/* The lines of /proc/PID/limits are in the order of their numbers. (prlimit asks for more privilege
 * to look.) */
static struct rlimit limits[RLIM_NLIMITS];
static void read_limits(int pid) {
  FILE* file = fdopen(open_proc(pid, "limits", O_RDONLY), "r");
  char line[256], soft[32], hard[32];
  if (fgets(line, sizeof line, file) == NULL) die("read limits");
  for (int i = 0; i < RLIM_NLIMITS && fgets(line, sizeof line, file); ++i) {
    if (sscanf(line + 26, "%31s %31s", soft, hard) != 2) die("read limits");
    limits[i].rlim_cur = strcmp(soft, "unlimited") == 0 ? RLIM_INFINITY : strtoul(soft, NULL, 10);
    limits[i].rlim_max = strcmp(hard, "unlimited") == 0 ? RLIM_INFINITY : strtoul(hard, NULL, 10);
  }
  fclose(file);
}

/* ---- cgroups, of both versions ---- */

static void write_self(const char* path) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) != 1) die("join %s", path);
  close(fd);
}
static void join_cgroups(int pid) {
  FILE* file = fdopen(open_proc(pid, "cgroup", O_RDONLY), "r");
  char line[4096], mount_line[4096], path[8192];
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
    if (group == NULL) continue;
    *kinds++ = *group++ = 0;
    if (strcmp(group, "/") == 0) continue;
    FILE* mounts = fopen("/proc/self/mountinfo", "r");
    while (fgets(mount_line, sizeof mount_line, mounts)) {
      char root[1024], point[1024], type[64], options[1024];
      const char* tail = strstr(mount_line, " - ");
      if (sscanf(mount_line, "%*s %*s %*s %1023s %1023s", root, point) != 2 ||
          strcmp(root, "/") != 0)
        continue;
      if (tail == NULL || sscanf(tail, " - %63s %*s %1023s", type, options) != 2) continue;
      int fits = *kinds == 0 ? strcmp(type, "cgroup2") == 0 : 0;
      if (*kinds != 0 && strcmp(type, "cgroup") == 0) {
        char words[1026], word[1026];
        snprintf(words, sizeof words, ",%s,", options);
        snprintf(word, sizeof word, ",%s,", kinds);
        fits = strstr(words, word) != NULL;
      }
      if (!fits) continue;
      snprintf(path, sizeof path, "%s%s/cgroup.procs", point, group);
      write_self(path);
      break;
    }
    fclose(mounts);
  }
  fclose(file);
}

/* ---- how many namespaces may be made in the sandbox ---- */

enum { kKinds = 7 };
static const char* const maxima[kKinds] = {"user", "pid", "mnt", "net", "uts", "ipc", "time"};
static int raiser_stays = -1;
static pid_t raiser;
/* A process inside writes them, and writes them back when raiser_stays is closed. /proc/sys shows
 * each user namespace its own. */
static void raise_maxima(int users) {
  int settings = open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC), ready[2], stay[2];
  if (settings < 0 || pipe2(ready, O_CLOEXEC) != 0 || pipe2(stay, O_CLOEXEC) != 0)
    die("raise maxima");
  raiser = fork();
  if (raiser == 0) {
    char name[64], was[kKinds][32] = {{0}}, byte;
    int fds[kKinds];
    close(ready[0]);
    close(stay[1]);
    if (setns(users, CLONE_NEWUSER) != 0) die("enter users");
    for (int i = 0; i < kKinds; ++i) {
      snprintf(name, sizeof name, "max_%s_namespaces", maxima[i]);
      fds[i] = openat(settings, name, O_RDWR | O_CLOEXEC);
      if (fds[i] < 0) continue;
      if (pread(fds[i], was[i], sizeof was[i] - 1, 0) <= 0 || pwrite(fds[i], "30000", 5, 0) != 5)
        die("raise %s", name);
    }
    if (write(ready[1], "x", 1) != 1) _exit(1);
    if (read(stay[0], &byte, 1) < 0) _exit(1);
    for (int i = 0; i < kKinds; ++i)
      if (fds[i] >= 0 && pwrite(fds[i], was[i], strlen(was[i]), 0) < 0) _exit(1);
    _exit(0);
  }
  char byte;
  close(ready[1]);
  close(stay[0]);
  raiser_stays = stay[1];
  if (read(ready[0], &byte, 1) != 1) exit(120);
  close(ready[0]);
  close(settings);
}
static void restore_maxima(void) {
  int status = 1;
  close(raiser_stays);
  if (waitpid(raiser, &status, 0) != raiser || status != 0) die("restore maxima");
}

/* ---- mounts ---- */

struct moved {
  int fd;
  const char* to;
};
static struct moved hosts[kMost];
static int host_count, host_proc = -1;

static int new_proc(void) {
  int fs = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
  if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
    die("open proc");
  int fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
  if (fd < 0) die("mount proc");
  return fd;
}
static int copy_of(const char* path, int recursive) {
  return (int)syscall(SYS_open_tree, AT_FDCWD, path,
                      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0));
}
static void attach(int fd, const char* to) {
  if (syscall(SYS_move_mount, fd, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    die("attach to %s", to);
}
static void clear_flag(const char* path, uint64_t flag) {
  struct mount_attr change = {.attr_clr = flag};
  if (syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &change, sizeof change) != 0)
    die("change the mount at %s", path);
}
/* A host's /proc in place of the sandbox's, with what lies over parts of it laid over again. */
static void replace_proc(FILE* mountinfo) {
  static char names[256][256];
  static struct moved kept[256];
  int count = 0;
  char line[4096];
  while (fgets(line, sizeof line, mountinfo) && count < 256)
    if (sscanf(line, "%*s %*s %*s %*s %255s", names[count]) == 1 &&
        rest_of(names[count], "/proc/")) {
      kept[count] = (struct moved){copy_of(names[count], 0), names[count]};
      if (kept[count].fd >= 0) ++count;
    }
  attach(host_proc, "/proc");
  for (int i = 0; i < count; ++i)
    if (access(kept[i].to, F_OK) == 0) attach(kept[i].fd, kept[i].to);
}
/* In a child: a mount namespace that belongs to the sandbox's user namespace, where nothing is
 * locked. */
static int changed_mounts(int mounts, int owner) {
  FILE* mountinfo = fdopen(open_proc(owner, "mountinfo", O_RDONLY), "r");
  int users = open_proc(owner, "ns/user", O_RDONLY);
  int ready[2], stay[2];
  char byte;
  if (pipe(ready) != 0 || pipe(stay) != 0) die("pipe");
  pid_t child = fork();
  if (child == 0) {
    close(stay[1]);
    if (setns(mounts, CLONE_NEWNS) != 0 || setns(users, CLONE_NEWUSER) != 0) die("enter mounts");
    if (!in_place && unshare(CLONE_NEWNS) != 0) die("copy mounts");
    if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) die("be root inside");
    if (host_proc >= 0) replace_proc(mountinfo);
    for (int i = 0; i < host_count; ++i) attach(hosts[i].fd, hosts[i].to);
    for (int i = 0; i < wall_count; ++i) {
      const char* path;
      if ((path = rest_of(walls[i], "mask:")) && umount2(path, MNT_DETACH) != 0)
        die("uncover %s", path);
      if ((path = rest_of(walls[i], "ro:"))) clear_flag(path, MOUNT_ATTR_RDONLY);
      if ((path = rest_of(walls[i], "nodev:"))) clear_flag(path, MOUNT_ATTR_NODEV);
      if ((path = rest_of(walls[i], "nosuid:"))) clear_flag(path, MOUNT_ATTR_NOSUID);
      if ((path = rest_of(walls[i], "noexec:"))) clear_flag(path, MOUNT_ATTR_NOEXEC);
    }
    if (write(ready[1], "x", 1) != 1) _exit(1);
    if (read(stay[0], &byte, 1) < 0) _exit(1);
    _exit(0);
  }
  close(ready[1]);
  close(stay[0]);
  if (read(ready[0], &byte, 1) != 1) exit(120);
  int fd = open_proc(child, "ns/mnt", O_RDONLY);
  close(stay[1]);
  waitpid(child, NULL, 0);
  close(ready[0]);
  return fd;
}
/* The sandbox's tree, by chroot in a copy of the host's mounts. */
static void chroot_only(int mounts) {
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    die("copy the host's mounts");
  int here = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (setns(mounts, CLONE_NEWNS) != 0) die("enter mounts");
  int tree = copy_of("/", 1);
  if (tree < 0 || setns(here, CLONE_NEWNS) != 0) die("take the tree along");
  if (mount("none", "/mnt", "tmpfs", 0, NULL) != 0 || mkdir("/mnt/root", 0755) != 0)
    die("make a place");
  attach(tree, "/mnt/root");
  if (chdir("/mnt/root") != 0 || chroot(".") != 0) die("chroot");
}

/* ---- the process itself ---- */

static void confine(void) {
  static const char* home[] = {"HOME=/root",
                               "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                               "LANG=C.UTF-8", NULL};
  extern char** environ;
  environ = (char**)home;
  umask(022);
  if (!without("caps"))
    for (int cap = 0; cap < 64; ++cap)
      if (!(cap_bounding >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 &&
          errno != EINVAL)
        die("drop %d", cap);
  if (setgroups((size_t)group_count, groups) != 0 || setresgid(gid, gid, gid) != 0)
    die("set groups");
  if (no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("no_new_privs");
  for (int i = 0; i < filter_count && !without("filter"); ++i)
    if (syscall(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, &filters[i]) != 0)
      die("load the filter");
  if (syscall(SYS_setresuid, uid, uid, uid) != 0) die("set uid");
  if (!without("caps")) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    for (int i = 0; i < 2; ++i)
      data[i] = (struct __user_cap_data_struct){(uint32_t)(cap_effective >> 32 * i),
                                                (uint32_t)(cap_permitted >> 32 * i),
                                                (uint32_t)(cap_inheritable >> 32 * i)};
    if (syscall(SYS_capset, &header, data) != 0) die("set capabilities");
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cwd != NULL && chdir(cwd) != 0) {
    fprintf(stderr, "stand_in: cwd: %s\n", strerrorname_np(errno));
    exit(121);
  }
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: stand_in PID [OPTION...] -- PROGRAM [ARG...]\n");
    return 2;
  }
  const int pid = atoi(argv[1]);
  int at = 2;
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    if (wall_count == kMost || taken_count == kMost) return 2;
    if (strcmp(argv[at], "--in-place") == 0)
      in_place = 1;
    else if (at + 1 == argc)
      return 2;
    else if (strcmp(argv[at], "--without") == 0)
      walls[wall_count++] = argv[++at];
    else if (strcmp(argv[at], "--take") == 0)
      taken[taken_count++] = argv[++at];
    else if (strcmp(argv[at], "--leak") == 0)
      leak = argv[++at];
    else if (strcmp(argv[at], "--cwd") == 0)
      cwd = argv[++at];
    else {
      fprintf(stderr, "stand_in: no option %s\n", argv[at]);
      return 2;
    }
  }
  if (at + 1 >= argc) return 2;
  argv += at + 1;

  read_filters(pid);
  read_status(pid);
  read_limits(pid);
  for (int i = 0; i < wall_count; ++i) {
    const char* from = rest_of(walls[i], "host:");
    if (from == NULL) continue;
    char *pair = strdup(from), *to = strchr(pair, '=');
    if (to == NULL) return 2;
    *to++ = 0;
    hosts[host_count] = (struct moved){copy_of(pair, 1), to};
    if (hosts[host_count++].fd < 0) die("take %s", pair);
  }
  if (without("pid") && !without("mount")) host_proc = new_proc();
  int leaked = leak == NULL ? -1 : open(leak, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (leak != NULL && leaked < 0) die("open %s", leak);

  static const struct {
    const char *wall, *file;
    int flag;
  } kinds[] = {{"cgroupns", "cgroup", CLONE_NEWCGROUP},
               {"ipc", "ipc", CLONE_NEWIPC},
               {"uts", "uts", CLONE_NEWUTS},
               {"net", "net", CLONE_NEWNET},
               {"pid", "pid", CLONE_NEWPID},
               {"time", "time", 0x80 /* CLONE_NEWTIME */}};
  /* A kernel without time namespaces has no such file; there the last is left out for everybody. */
  const int kind_count = access("/proc/self/ns/time", F_OK) == 0 ? 6 : 5;
  int joined[6], mounts = namespace("mnt", pid), users = namespace("user", pid);
  for (int i = 0; i < kind_count; ++i) joined[i] = namespace(kinds[i].file, pid);
  /* Always a copy: what an act does there without a wall must not reach the sandbox. */
  if (!without("mount")) {
    const int owner = source_of("mnt", pid);
    raise_maxima(open_proc(owner, "ns/user", O_RDONLY)); /* our own work on mounts counts too */
    mounts = changed_mounts(mounts, owner);
    restore_maxima();
  }
  if (in_place) return 0;
  if (without("namespaces")) raise_maxima(users);

  if (!without("cgroup")) join_cgroups(pid);
  if (!without("limits"))
    for (int i = 0; i < RLIM_NLIMITS; ++i)
      if (setrlimit((enum __rlimit_resource)i, &limits[i]) != 0) die("set limit %d", i);
  for (int i = 0; i < kind_count; ++i)
    if (!without(kinds[i].wall) && setns(joined[i], kinds[i].flag) != 0)
      die("enter %s", kinds[i].wall);
  pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    if (without("namespaces")) restore_maxima();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  if (without("pivot")) {
    raise_maxima(users);
    chroot_only(mounts);
    restore_maxima();
  } else if (!without("mount") && setns(mounts, CLONE_NEWNS) != 0)
    die("enter mounts");
  if (!without("user") && setns(users, CLONE_NEWUSER) != 0) die("enter users");
  if (leaked >= 0 && dup2(leaked, 7) != 7) die("leak");
  syscall(SYS_close_range, 3, leaked >= 0 ? 6 : ~0U, 0);
  if (leaked >= 0) syscall(SYS_close_range, 8, ~0U, 0);
  confine();
  execvp(argv[0], argv);
  fprintf(stderr, "stand_in: exec %s: %s\n", argv[0], strerror(errno));
  return 127;
}
