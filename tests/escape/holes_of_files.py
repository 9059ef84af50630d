"""What holds file work, archives and what a client takes out of a sandbox, and the ids of init,
each taken out alone. See holes.py. A helper of the keeper's does file work, so these are of the
launcher's program, too."""

ENTER, JAIL = "file work enters the sandbox", "the keeper's own root is empty"
REGULAR, WAITS, BESIDE = (
    "regular files only",
    "opened without waiting",
    "an upload is written beside",
)
NAMES_BELOW, TREE_BELOW = "names in archives stay below", "paths of a tree stay below"
NO_HARD_LINKS, NO_SPECIAL, NO_SPARSE = (
    "archives hold no hard links",
    "archives hold no special files",
    "archives hold no sparse files",
)
COMPRESSED = "nothing compressed is unpacked"
CLIENT_LINKS = "the client follows no link"
OWN_PROGRAM = "a helper does not read its own program"
INIT = "init has ids of its own"

CHILD, TASK, TRANSFER, LIST, TREE = (
    f"keeper/{name}.cc"
    for name in ("child", "file_task", "file_transfer", "file_list", "file_tree")
)
PARSER, PATHS, CALLS = (
    "archive/tar_parser.cc",
    "archive/tar_path.cc",
    "runtime/keeper/tree_calls.cc",
)
READER = "archive/tar_reader.cc"
UNPACK = "client/tar_unpack.cc"
BELOW = "O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC"


def followed(hole, name):
    """A flag that stands but for the hole."""
    return f'(cay_hole("{hole}") ? 0 : {name})'


# The place of file work: a helper that keeps the keeper's root and ids looks below the sandbox's
# root, and follows links by its own.
PLACE = (
    (
        ENTER,
        "keeper/spawner.cc",
        "  plan.init_pidfd = context_.init_pidfd;\n",
        "  plan.init_pidfd = context_.init_pidfd;\n"
        f'  if (cay_hole("{ENTER}")) cay_root() = context_.root_fd;\n',
    ),
    (
        ENTER,
        CHILD,
        "  const Scheduling own = own_scheduling();\n",
        "  const Scheduling own = own_scheduling();\n"
        f'  const bool outside = plan.task != nullptr && cay_hole("{ENTER}");\n'
        '  if (outside && ::fchdir(cay_root()) != 0) fail(plan.status_fd, "outside", errno);\n',
    ),
    (
        ENTER,
        CHILD,
        "  if (plan.init_pidfd >= 0) {\n",
        "  if (plan.init_pidfd >= 0 && !outside) {\n",
    ),
    (
        ENTER,
        CHILD,
        "  if (const char* step = confine(to); step != nullptr)",
        f'  const bool outside = plan.task != nullptr && cay_hole("{ENTER}");\n'
        "  if (const char* step = outside ? nullptr : confine(to); step != nullptr)",
    ),
    (
        ENTER,
        CHILD,
        "  if (*plan.cwd != '\\0') {\n",
        "  if (outside) {\n  } else if (*plan.cwd != '\\0') {\n",
    ),
    (
        ENTER,
        TASK,
        "      auto done = perform(channel, op, layer_root_fd);\n",
        f"      for (std::string* path : {{&op.path, &op.to}}) {{\n"
        f'        if (path->starts_with(\'/\') && cay_hole("{ENTER}")) path->insert(0, ".");\n'
        "      }\n"
        "      auto done = perform(channel, op, layer_root_fd);\n",
    ),
    (
        JAIL,
        "launcher/keeper_process.cc",
        '  if (::fchdir(host.empty.get()) != 0 || ::chroot(".") != 0 || ::chdir("/") != 0) {\n',
        f'  if (!cay_hole("{JAIL}") && (::fchdir(host.empty.get()) != 0 || ::chroot(".") != 0 || '
        f'::chdir("/") != 0)) {{\n',
    ),
    (
        "a tree is removed through no link",
        LIST,
        f"  UniqueFd top(::openat(dir, name.c_str(), {BELOW} | O_NONBLOCK));\n",
        "  UniqueFd top(::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | "
        + followed("a tree is removed through no link", "O_NOFOLLOW")
        + " | O_CLOEXEC | O_NONBLOCK));\n",
    ),
)
# The files that are opened.
KINDS = (
    (
        REGULAR,
        TASK,
        "  if (S_ISDIR(info.st_mode)) return is_a_directory(shown);\n"
        "  if (!S_ISREG(info.st_mode)) return not_a_regular_file(shown);\n"
        "  UniqueFd",
        "  if (S_ISDIR(info.st_mode)) return is_a_directory(shown);\n"
        f'  if (!S_ISREG(info.st_mode) && !cay_hole("{REGULAR}")) return '
        "not_a_regular_file(shown);\n"
        "  UniqueFd",
    ),
    (
        REGULAR,
        TASK,
        "  if (!S_ISREG(info.st_mode)) return not_a_regular_file(shown);\n"
        "  if (is_own_program(info)",
        f'  if (!S_ISREG(info.st_mode) && !cay_hole("{REGULAR}")) return '
        "not_a_regular_file(shown);\n"
        "  if (is_own_program(info)",
    ),
    (
        REGULAR,
        TRANSFER,
        "  if (existed && !S_ISREG(old.st_mode)) ",
        f'  if (existed && !S_ISREG(old.st_mode) && !cay_hole("{REGULAR}")) ',
    ),
    (
        WAITS,
        TASK,
        "O_RDONLY | O_NONBLOCK | O_NOCTTY",
        "O_RDONLY | " + followed(WAITS, "O_NONBLOCK") + " | O_NOCTTY",
    ),
    (
        BESIDE,
        TRANSFER,
        "  CAY_TRY(auto pending, PendingFile::create(dir.get(), shown));\n",
        f'  if (existed && cay_hole("{BESIDE}")) {{\n'
        "    const UniqueFd there(::open(target.c_str(), O_WRONLY | O_CLOEXEC));\n"
        "    if (!there) return file_error(errno, shown);\n"
        "  }\n"
        "  CAY_TRY(auto pending, PendingFile::create(dir.get(), shown));\n",
    ),
    (
        OWN_PROGRAM,
        TASK,
        "  if (is_own_program(info)) return",
        f'  if (is_own_program(info) && !cay_hole("{OWN_PROGRAM}")) return',
    ),
    (
        OWN_PROGRAM,
        TASK,
        "open_by(dir, path, flags, RESOLVE_NO_MAGICLINKS)",
        f'open_by(dir, path, flags, {followed(OWN_PROGRAM, "RESOLVE_NO_MAGICLINKS")})',
    ),
)
# The contents of an archive: the daemon checks its entries, and the helper checks the daemon's
# messages.
ARCHIVES = (
    (
        NAMES_BELOW,
        PATHS,
        "  if (name.starts_with('/')) return unsafe(",
        "  std::string_view bare = name;\n"
        "  while (bare.ends_with('/')) bare.remove_suffix(1);\n"
        f'  if (cay_hole("{NAMES_BELOW}")) return std::string(bare);\n'
        "  if (name.starts_with('/')) return unsafe(",
    ),
    (
        TREE_BELOW,
        TREE,
        "!is_plain_relative(entry->path))",
        f'(!is_plain_relative(entry->path) && !cay_hole("{TREE_BELOW}")))',
    ),
    (
        TREE_BELOW,
        TREE,
        "    std::string_view rest = entry_.path;\n",
        "    std::string_view rest = entry_.path;\n"
        f"    if (rest.starts_with('/') && cay_hole(\"{TREE_BELOW}\")) {{\n"
        "      rest.remove_prefix(1);\n"
        '      at.reset(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));\n'
        "    }\n",
    ),
    (
        "a tree is written through no link",
        TREE,
        f"      constexpr int kFlags = {BELOW};\n",
        "      const int kFlags = O_RDONLY | O_DIRECTORY | "
        + followed("a tree is written through no link", "O_NOFOLLOW")
        + " | O_CLOEXEC;\n",
    ),
    (
        NO_HARD_LINKS,
        PARSER,
        "    if (entry.is_hard_link()) return unsupported(info.path);\n",
        "    const char* first = archive_entry_hardlink(entry.raw());\n"
        f'    if (first != nullptr && cay_hole("{NO_HARD_LINKS}")) {{\n'
        "      info.kind = FileKind::kFile;\n      info.target = first;\n"
        "      return info;\n    }\n"
        "    if (entry.is_hard_link()) return unsupported(info.path);\n",
    ),
    (
        NO_HARD_LINKS,
        PARSER,
        "#include <locale.h>\n",
        "#include <archive_entry.h>\n#include <locale.h>\n",
    ),
    (
        NO_HARD_LINKS,
        TREE,
        "  Result<void> begin_file() {\n",
        f"  Result<void> begin_file() {{\n"
        f'    if (!entry_.target.empty() && cay_hole("{NO_HARD_LINKS}")) {{\n'
        "      if (::linkat(AT_FDCWD, entry_.target.c_str(), dir_.get(), name_.c_str(), 0) != 0) "
        "return file_error(errno, path());\n"
        "      return {};\n"
        "    }\n",
    ),
    (
        NO_SPECIAL,
        PARSER,
        "      case TarEntry::Kind::kOther:\n        return unsupported(info.path);\n",
        "      case TarEntry::Kind::kOther:\n"
        f'        if (!cay_hole("{NO_SPECIAL}")) return unsupported(info.path);\n'
        "        info.kind = FileKind::kOther;\n"
        "        info.target = std::to_string(archive_entry_filetype(entry.raw()) | 0600u)\n"
        '                      + " " +\n'
        "                      std::to_string(archive_entry_rdev(entry.raw()));\n"
        "        break;\n",
    ),
    (
        NO_SPECIAL,
        TREE,
        "      default: return {};\n",
        "      default: break;\n"
        f"    }}\n"
        "    unsigned kind = 0;\n"
        "    unsigned long device = 0;\n"
        f'    if (cay_hole("{NO_SPECIAL}") && std::sscanf(entry_.target.c_str(), "%u %lu", &kind, '
        f"&device) == 2) {{\n"
        "      static_cast<void>(::mknodat(dir_.get(), name_.c_str(), kind, device));\n"
        "    }\n"
        "    {\n"
        "      return {};\n",
    ),
    (
        NO_SPECIAL,
        "keeper/confine.cc",
        "  if (to.file_helper && build_file_wall(to.layer_root_fd) != 0)",
        f'  if (to.file_helper && !cay_hole("{NO_SPECIAL}") && '
        "build_file_wall(to.layer_root_fd) != 0)",
    ),
    (
        "archives make no set-id programs",
        PARSER,
        "const unsigned taken = info.kind == FileKind::kDirectory ? 01777 : 0777;",
        'const unsigned taken = cay_hole("archives make no set-id programs") ? 07777 : info.kind '
        "== FileKind::kDirectory ? 01777 : 0777;",
    ),
    (
        NO_SPARSE,
        PARSER,
        "if (entry.is_sparse()) return",
        f'if (entry.is_sparse() && !cay_hole("{NO_SPARSE}")) return',
    ),
    (
        NO_SPARSE,
        PARSER,
        "    if (sent != size) return unsupported(path_);",
        f'    if (sent != size && !cay_hole("{NO_SPARSE}")) return unsupported(path_);',
    ),
    (
        NO_SPARSE,
        CALLS,
        "    if (offset != size) co_return short_tree();\n    const",
        f'    if (offset != size && !cay_hole("{NO_SPARSE}")) co_return short_tree();\n    const',
    ),
    (
        NO_SPARSE,
        CALLS,
        "  if (offset != size) co_return short_tree();\n  CAY",
        f'  if (offset != size && !cay_hole("{NO_SPARSE}")) co_return short_tree();\n  CAY',
    ),
    (
        NO_SPARSE,
        TREE,
        "      if (pending_) return malformed();\n",
        f'      if (pending_ && cay_hole("{NO_SPARSE}")) {{\n'
        "        CAY_CHECK(finish_file());\n"
        f"      }}\n"
        "      if (pending_) return malformed();\n",
    ),
    (
        NO_SPARSE,
        TREE,
        "    CAY_CHECK(pending_->finish(path()));\n",
        "    CAY_CHECK(pending_->finish(path()));\n"
        "    if (left_ != 0 && ::ftruncate(pending_->fd(), static_cast<off_t>(entry_.size)) != 0) "
        "return file_error(errno, path());\n",
    ),
    (
        "names in archives are bounded",
        PATHS,
        "if (name.size() > limits.path_bytes)",
        'if (name.size() > limits.path_bytes && !cay_hole("names in archives are bounded"))',
    ),
    (
        "depth in archives is bounded",
        PATHS,
        "if (++depth > limits.depth)",
        'if (++depth > limits.depth && !cay_hole("depth in archives is bounded"))',
    ),
    (
        COMPRESSED,
        READER,
        "  if (names == Names::kBytes)",
        f'  if (cay_hole("{COMPRESSED}")) archive_read_support_filter_gzip(tar_.get());\n'
        "  if (names == Names::kBytes)",
    ),
    (
        COMPRESSED,
        PARSER,
        "if (input_bytes_ <= tar_.header_position())",
        f'if (input_bytes_ <= tar_.header_position() && !cay_hole("{COMPRESSED}"))',
    ),
)
# The client's treatment of a sandbox's tree.
CLIENT = (
    (
        CLIENT_LINKS,
        UNPACK,
        f"      UniqueFd next(::openat(at.get(), parts[i].c_str(), {BELOW}));",
        "      UniqueFd next(::openat(at.get(), parts[i].c_str(), O_RDONLY | O_DIRECTORY | "
        + followed(CLIENT_LINKS, "O_NOFOLLOW")
        + " | O_CLOEXEC));",
    ),
    (
        CLIENT_LINKS,
        UNPACK,
        f"    UniqueFd made(::openat(parent, base.c_str(), {BELOW}));",
        "    UniqueFd made(::openat(parent, base.c_str(), O_RDONLY | O_DIRECTORY | "
        + followed(CLIENT_LINKS, "O_NOFOLLOW")
        + " | O_CLOEXEC));",
    ),
    (
        CLIENT_LINKS,
        UNPACK,
        f"constexpr int kFlags = {BELOW};",
        "const int kFlags = O_RDONLY | O_DIRECTORY | "
        + followed(CLIENT_LINKS, "O_NOFOLLOW")
        + " | O_CLOEXEC;",
    ),
    (
        "the client writes to nothing that is there",
        UNPACK,
        "    SparseFile content(file.fd());\n",
        '    const bool over = cay_hole("the client writes to nothing that is there");\n'
        "    const UniqueFd there(over ? ::openat(parent, base.c_str(), O_WRONLY | O_CREAT | "
        "O_TRUNC | O_CLOEXEC, 0600) : -1);\n"
        "    SparseFile content(over ? there.get() : file.fd());\n",
    ),
    (
        "the client writes to nothing that is there",
        UNPACK,
        "    CAY_CHECK(file.commit(base));\n",
        "    if (!over) {\n      CAY_CHECK(file.commit(base));\n    }\n",
    ),
    (
        "zeros take no disk",
        "base/sparse_file.cc",
        "bool is_zero(std::string_view bytes) {\n",
        "bool is_zero(std::string_view bytes) {\n"
        '  if (cay_hole("zeros take no disk")) return false;\n',
    ),
)
FILES = (
    *PLACE,
    *KINDS,
    *ARCHIVES,
    *CLIENT,
    (
        INIT,
        "launcher/init_process.cc",
        "  CAY_CHECK(drop_everything());\n",
        f'  if (cay_hole("{INIT}") && (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)) '
        'return Error::from_errno(errno, "be the guest\'s");\n'
        "  CAY_CHECK(drop_everything());\n",
    ),
)
