"""Why a test that passes on the host does not inside: the first line whose test and words match.
docs/measured/suites.md tells the classes."""
import re

# Calls that seccomp_rules.h answers EPERM, by the beginnings of the tests' names.
REFUSED = (
    r"fanotify|kcmp|get_mempolicy|set_mempolicy|mbind|migrate_pages|move_pages|pidfd_getfd|"
    r"perf_event_open|sched_setparam|userfaultfd|mremap07|statmount|listmount|sysfs|ustat|vmsplice"
    r"|name_to_handle_at|open_by_handle_at|bpf|io_uring|modify_ldt|lsm_|process_madvise|"
    r"process_mrelease|memfd_secret|iopl|ioperm|open_tree|move_mount|fs(open|config|mount|pick)|"
    r"keyctl|add_key|request_key"
)
CLASSES = {
    "refused": "EPERM by the filter: the call belongs to the host",
    "unknown": "ENOSYS by the filter: the call has no line, or only one that says so (clone3)",
    "namespaces": "EPERM by the filter: a new namespace, or CLONE_PARENT",
    "counted": "the kernel's own count: no user namespaces, but in profile nested",
    "cores": "no core dumps: the limit is 1, and stays so",
    "mounts": "EPERM by the filter: mounts are fixed; LTP then looks for a block device, of which "
    "there "
    "is none",
    "names": "EPERM by the filter: host and domain name are set when the sandbox is made",
    "families": "the filter's answer for a family, type or protocol of sockets that is not on its "
    "list",
    "personality": "EPERM by the filter: a personality that is not on its list",
    "prctl": "EINVAL by the filter: an option that is not on its list",
    "capability": "a capability of the twelve that is not there, or that counts in the host's user "
    "namespace alone",
    "filtered": "the kernel's: a filter is there before the test's (no strict mode after it, and "
    "it is "
    "told of)",
    "filters": "EINVAL by the filter: a filter of system calls of the guest's own, but in profile "
    "nested",
    "sockets": "EPERM or ENOPROTOOPT by the filter: a raw socket, or a filter of a socket's",
    "huge": "ENOMEM or EINVAL by the filter: huge pages, which are the host's",
    "tracer": "ENOSYS by the filter for the number -1, by which a tracer skips a call: a result "
    "set at "
    "the entry is lost, one set at the exit stands",
    "i386": "SIGSYS by the filter: the 32-bit entry is closed",
    "limit": "a resource limit of commands",
    "init": "process 1 is Cay's: not to be traced, read or signalled",
    "view": "a file of /proc or /sys that is covered or read-only",
    "devices": "a device that /dev has not",
    "merge": "no /sys/kernel/mm inside, so that LTP takes memory merging for absent",
    "net": "lo is the only interface, and has the gate's address too",
    "race": "fails now on one side, now on the other",
    "nosuid": "/tmp is mounted without setuid",
    "time": "one CPU, as every sandbox has unless told otherwise: not at its end in its time",
}
LINES = [
    (
        r"^kselftest/(clone3/|core/close_range|futex/futex_wait|pidfd/pidfd_wait|ptrace/"
        r"peeksiginfo)",
        r"",
        "unknown",
    ),
    (r"^kselftest/futex/futex_requeue_pi", r"pthread_create", "capability"),
    (
        r"^kselftest/(capabilities/test_execve|exec/recursion-depth|landlock/fs_test|mount/|"
        r"mount_setattr/|move_mount|nsfs/|timens/|tmpfs/)",
        r"",
        "namespaces",
    ),
    (
        r"^kselftest/(openat2/resolve_test|pidfd/pidfd_(fdinfo|setns)|proc/(fd-001|proc-loadavg|"
        r"proc-pid-vm|proc-subset|setns))",
        r"",
        "namespaces",
    ),
    (r"^kselftest/proc/proc-(fsconfig|multiple)", r"", "mounts"),
    (r"^kselftest/exec/non-regular file.S_IF(BLK|CHR)", r"", "capability"),
    (r"^kselftest/(landlock/base_test global.cred_transfer|pidfd/pidfd_getfd)", r"", "refused"),
    (
        r"^kselftest/seccomp/seccomp_bpf (global.kcmp|global.user_notification_(continue|addfd))",
        r"",
        "refused",
    ),
    (r"^kselftest/seccomp/seccomp_bpf global.mode_(strict|filter_get_seccomp)", r"", "filtered"),
    (
        r"^kselftest/seccomp/seccomp_bpf global.(mode_filter_without_nnp|get_metadata)",
        r"",
        "capability",
    ),
    (
        r"^kselftest/seccomp/seccomp_bpf global.user_notification_(child|sibling|fault)",
        r"",
        "namespaces",
    ),
    (r"^kselftest/seccomp/seccomp_bpf global.user_notification_filter_empty", r"", "unknown"),
    (r"^kselftest/(seccomp/seccomp_bpf TRACE_syscall.ptrace|x86/syscall_numbering)", r"", "tracer"),
    (r"^kselftest/seccomp/", r"", "filters"),
    (r"^kselftest/syscall_user_dispatch/", r"", "prctl"),
    (r"^kselftest/x86/(fsgsbase|mov_ss_trap)", r"signal 31", "i386"),
    (r"^ltp/", r"User namespaces are disabled", "counted"),
    (r"^ltp/(waitid10|waitpid01)", r"DUMPED|dump core", "cores"),
    (r"^ltp/prctl02", r"CONFIG_SECCOMP_FILTER", "filters"),
    (r"^ltp/capset02", r"EPERM", "capability"),
    (
        r"^gvisor/(socket_netlink|packet_|ip6?tables|socket_inet_loopback_test BadSocketPairArgs)",
        r"errno=9[347]|netfilter.cc:\d+: Skipped",
        "families",
    ),
    (r"^gvisor/personality_test", r"", "personality"),
    (r"^gvisor/prctl_test PrctlTest.InvalidPrSetMM", r"", "prctl"),
    (
        r"^gvisor/prctl_setuid_test|^gvisor/tcp_socket_test "
        r".*(Congestion|AttachDetachFilter)|^gvisor/xattr_test XattrTest.Trusted",
        r"signal 6|errno=1 |EPERM",
        "capability",
    ),
    # PTRACE: the program has changed its ids before, so that its children are not dumpable; each
    # passes alone.
    (
        r"^gvisor/proc_test Proc(PidMem.SameUser|Pid\w+.Subprocess|Task.VerifyTaskChildren)",
        r"",
        "capability",
    ),
    (r"^gvisor/getdents_test GetdentsTest/0", r"", "unknown"),
    (r"^gvisor/ip6?tables_test", r"errno=1 ", "capability"),
    (
        r"^gvisor/(proc_test Proc(Cmdline|Cpuinfo)|lseek_test "
        r".*(SysDir|SeekCurrentDir)|rename_test .*Sysfs)",
        r"",
        "view",
    ),
    (r"^gvisor/tcp_socket_test .*SynRcvdOnListenerShutdown", r"", "race"),
    (r"^gvisor/readv_test", r"signal 9", "limit"),
    (r"^gvisor/capabilities_test", r"mounted nosuid", "nosuid"),
    (r"^gvisor/socket_netdevice_test .*Netmask", r"", "net"),
    (r"^gvisor/uname_test UnameTest.Sanity", r"", "names"),
    (r"^gvisor/unshare_test|^gvisor/fork_test CloneTest.CloneParent$", r"", "namespaces"),
    (r"^gvisor/bad_test", r"", "refused"),  # get_kernel_syms
    (
        r"^gvisor/(splice_test|pidfd_test)",
        r"timeout",
        "unknown",
    ),  # what waits for tee or clone3 waits for ever
    (
        r"^gvisor/",
        r"CanCreateUserNamespace|CLONE_NEW|syscall\((SYS_unshare|272)|setns\(|unshare\(",
        "namespaces",
    ),
    (r"^gvisor/", r"HaveCapability", "capability"),
    (r"^gvisor/", r"errno[=: ]*\(?38|Which is: 38", "unknown"),
    (r"^gvisor/(mount|pivot_root)", r"errno=1 ", "mounts"),
    (r"^gvisor/(bad|iouring|keys|mempolicy|pidfd|syslog)_test", r"errno=1 ", "refused"),
    (r"^gvisor/", r"^timeout", "time"),
    (r"^ltp/(seccomp01|prctl04)$", r"EINVAL", "filters"),
    (
        r"^ltp/",
        r"setsockopt\(\d+, 1, (26|44|50|51|52)[^\n]*ENOPROTOOPT|SOCK_RAW[^\n]*EPERM",
        "sockets",
    ),
    (r"^gvisor/(raw_socket|packet_socket|socket_bpf|cooked)", r"", "sockets"),
    (r"^(ltp/hugemmap|ltp/hugeshm|ltp/memfd_create0[34])", r"ENOMEM|EINVAL", "huge"),
    (r"^ltp/madvise02$", r"succeeded unexpectedly", "merge"),
    (r"^ltp/(clone08)$", r"CLONE_PARENT", "namespaces"),
    (r"^ltp/ptrace11$", r"EPERM", "init"),
    (r"^ltp/semctl06$", r"errno 13", "capability"),  # IPC_OWNER
    (
        r"^ltp/openat03$",
        r"1755, but expected 7755",
        "capability",
    ),  # FSETID of the host's: a write to such a file takes its setid bits away
    (r"^ltp/(mlock01|munlock01)$", r"ENOMEM", "limit"),
    (r"^ltp/sendmsg01$", r"loop back device", "capability"),
    (r"^ltp/socket(pair)?01$", r"EAFNOSUPPORT|ESOCKTNOSUPPORT", "families"),
    (r"^ltp/personality", r"EPERM", "personality"),
    (r"^ltp/cve-", r"persona\([^\n]*EPERM", "personality"),
    (r"^ltp/cve-", r"(request_key|keyring|modify_ldt|adjtimex)[^\n]*EPERM", "refused"),
    (r"^ltp/", r"/proc/cmdline", "view"),
    (r"^ltp/set(host|domain)name", r"EPERM|unexpected errno: 1", "names"),
    (r"^ltp/(nice|setpriority)", r"EPERM", "capability"),
    (r"^ltp/", r"^T\w+: Need CAP_", "capability"),
    (r"^ltp/(mount|umount|pivot_root|listmount|statmount)", r"EPERM", "mounts"),
    (rf"^ltp/({REFUSED})", r"EPERM|Remaining cases broken|requires CAP_SYS_PTRACE", "refused"),
    (r"^ltp/", r"Skipping fanotify: EPERM", "refused"),  # tests of every kind of descriptor
    (r"^ltp/(unshare|setns)", r"EPERM", "namespaces"),
    (
        r"^ltp/",
        r"(unshare|clone)[^\n]* failed: EPERM|ltp_clone|unshare failed: EPERM",
        "namespaces",
    ),
    (r"^ltp/", r"Failed to acquire device|mount\([^\n]*EPERM", "mounts"),
    (
        r"^ltp/",
        r"setxattr\([^\n]*security\.[^\n]*EPERM|mknod\([^\n]*EPERM|immutable failed: "
        r"EPERM|setsockopt\(3, 1, 32[^\n]*EPERM",
        "capability",
    ),
    (r"^ltp/", r"EPROTONOSUPPORT|EAFNOSUPPORT", "families"),
    (r"^ltp/", r"not supported on your arch|ENOSYS|(AIO|io_destroy\(\)) not supported", "unknown"),
]


def why(user, name, case, here, says):
    del user, here
    for test, words, line in LINES:
        if re.search(test, f"{name} {case}".rstrip()) and re.search(words, says):
            return CLASSES[line]
    return None
