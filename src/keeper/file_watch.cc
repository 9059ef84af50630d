// Watches a directory and all directories below it by inotify, and sends an event for each change.
//
// inotify watches single directories, and the kernel's queue is bounded. Therefore:
//
// - A new directory is watched first and listed afterwards. The list has what came into it before,
//   and the queue has what comes later. An entry that both have is sent once.
// - After an overflow of the queue, the watcher looks for all directories again and sends a gap.
//   Every change without an event happened before that gap.
// - The watcher sends a gap with the path of a directory that it cannot watch.
//
// An upload is one change of its file. A file without a name (O_TMPFILE) changes no path: the
// kernel reports it under the name "#" and its inode number. The watcher skips such an event unless
// an entry has that name.
//
// A file with a new temporary name (file_paths.h) may replace another file of its directory at
// once. The watcher sends this as one change of the other file, and any other event of such a name
// as it is.
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "keeper/file_details.h"
#include "keeper/file_error.h"
#include "keeper/file_names.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"
#include "keeper/loop.h"

namespace cay::keeper {
namespace {

// cay::FileEventKind
constexpr std::uint8_t kCreated = 1, kModified = 2, kAttributes = 3, kDeleted = 4, kMoved = 5,
                       kGap = 6;

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM |
                                  IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
                                  IN_EXCL_UNLINK;
constexpr std::size_t kMostDirectories = 100'000;  // what the helper holds in memory
constexpr std::size_t kMostMoves = 64;             // whose second half has not come
constexpr std::int64_t kMoveMs = 50;               // how long it may take to come
constexpr std::size_t kMostTemporary = 64;         // new temporary files that are not sent yet
constexpr std::size_t kBuffer = 64 * 1024;

Error too_many_directories() {
  return {Code::kExhausted, "watch_limit",
          "more than 100,000 directories are below it: watch a smaller one", 0};
}

// `err`: of inotify_init1() and inotify_add_watch().
Error watch_error(int err, const std::string& shown) {
  if (err == EMFILE || err == ENFILE) {
    return {Code::kExhausted, "watch_limit",
            "the host gives this user no more inotify instances (fs.inotify.max_user_instances): "
            "end other watchers in the sandbox, or have the operator raise it",
            err};
  }
  if (err == ENOSPC) {
    return {Code::kExhausted, "watch_limit",
            "the host lets this user watch no more directories (fs.inotify.max_user_watches): "
            "watch a smaller directory, or have the operator raise it",
            err};
  }
  return file_error(err, shown);
}

// The watched directories by their watches.
struct WatchedTree {
  // A watched directory. Its path is that of its parent and its name, so that a move costs nothing.
  struct Node {
    int parent = -1;
    std::string name{};
    std::map<std::string, int> directories{};  // watched ones in it, by name
    std::set<std::string> listed{};            // sent after a list; the queue may have them, too
    std::set<std::string> numbered{};          // entries with a name as of a file without one
  };

  int root = -1;
  std::unordered_map<int, Node> nodes{};

  // The path below the root.
  std::string relative(int watch) const {
    std::string out;
    for (int at = watch; at != root;) {
      const auto found = nodes.find(at);
      if (found == nodes.end()) break;
      const Node& node = found->second;
      out = out.empty() ? node.name : node.name + "/" + out;
      at = node.parent;
    }
    return out;
  }
  // Whether `watch` is `above` or lies below it. Mounts can show a directory within itself.
  bool is_within(int watch, int above) const {
    for (int at = watch; at != above; at = nodes.at(at).parent) {
      if (at == root || !nodes.contains(at)) return false;
    }
    return true;
  }
  // Whether an event with a numbered name is of an entry. Keeps account of those entries.
  bool has_numbered(const inotify_event& event, const std::string& name) {
    auto& names = nodes.at(event.wd).numbered;
    if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) names.insert(name);
    if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
      names.erase(name);
      return true;
    }
    return names.contains(name);
  }
  void unlink_from_parent(int watch) {
    const Node& node = nodes.at(watch);
    const auto parent = nodes.find(node.parent);
    if (parent == nodes.end()) return;
    const auto entry = parent->second.directories.find(node.name);
    if (entry != parent->second.directories.end() && entry->second == watch)
      parent->second.directories.erase(entry);
  }
};

// Whether it is "#" and a number, the kernel's name of a file without one.
bool is_numbered(std::string_view name) {
  return name.size() > 1 && name.starts_with('#') &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

class Watcher {
 public:
  Watcher(FileChannel& channel, const wire::FileOp& op)
      : channel_(channel),
        recursive_(op.recursive),
        asked_(op.path),
        shown_(shown_path(op, op.path)) {
    while (shown_.size() > 1 && shown_.ends_with('/')) shown_.pop_back();
  }

  Result<void> open() {
    CAY_TRY(const UniqueFd root,
            open_path(AT_FDCWD, asked_.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK, shown_));
    if (::fstat(root.get(), &root_info_) != 0) return file_error(errno, shown_);
    inotify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!inotify_) return watch_error(errno, shown_);
    // By its name in /proc, which stands for the open directory whatever the path leads to by now.
    const std::string name = proc_path(root.get());
    tree_.root = ::inotify_add_watch(inotify_.get(), name.c_str(), kEvents);
    if (tree_.root < 0) return watch_error(errno, shown_);
    tree_.nodes.emplace(tree_.root, WatchedTree::Node{});
    return enter(tree_.root, Entries::kKnown);
  }

  Result<void> run() {
    stands_ = true;
    for (const wire::FileEventMsg& event : early_) channel_.send_event(event);
    early_.clear();
    std::vector<char> buffer(kBuffer);
    for (;;) {
      pollfd wanted[2] = {{inotify_.get(), POLLIN, 0}, {channel_.fd(), POLLIN, 0}};
      const bool waits = !moves_.empty() || !temporary_.empty();
      const int ready = ::poll(wanted, 2, waits ? static_cast<int>(kMoveMs) : -1);
      if (ready < 0 && errno != EINTR) return file_error(errno, shown_);
      if (wanted[1].revents != 0) channel_.take_credit();
      if (wanted[0].revents != 0) {
        const ssize_t got = ::read(inotify_.get(), buffer.data(), buffer.size());
        if (got < 0 && errno != EAGAIN && errno != EINTR) return file_error(errno, shown_);
        if (got > 0) {
          CAY_CHECK(take(buffer.data(), static_cast<std::size_t>(got)));
        }
      }
      settle();
    }
  }

 private:
  // Whether the entries of a directory that is entered are news.
  enum class Entries : bool { kKnown, kNew };
  struct Move {
    std::uint32_t cookie;
    int parent;
    std::string name;
    bool directory;
    std::int64_t since;
    bool temporary = false;  // a new temporary file, whose creation was not sent
  };
  // A new temporary file. It is sent as such if it does not replace another file at once.
  struct Temporary {
    int parent;
    std::string name;
    std::int64_t since;
  };

  std::string path_of(int parent, const std::string& name) const {
    std::string out = shown_ == "/" ? "" : shown_;
    const std::string below = tree_.relative(parent);
    if (!below.empty()) out += "/" + below;
    return out + "/" + name;
  }

  void send(std::uint8_t kind, const std::string& path, bool directory,
            const std::string& to = {}) {
    wire::FileEventMsg event{kind, path, to, directory};
    if (!stands_) return early_.push_back(std::move(event));
    channel_.send_event(event);
  }

  // Opens a directory by its place below the root. No symbolic link is followed, also where one
  // takes the place of a directory meanwhile.
  UniqueFd open_below(const std::string& path) const {
    // Not kept open: the kernel reports the end of a directory once nobody has it open.
    const auto root =
        open_path(AT_FDCWD, asked_.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK, shown_);
    struct stat info{};
    if (!root || ::fstat(root->get(), &info) != 0 || info.st_dev != root_info_.st_dev ||
        info.st_ino != root_info_.st_ino) {
      errno = ENOENT;  // gone, which has an event of its own
      return {};
    }
    open_how how{};
    how.flags = static_cast<std::uint64_t>(O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return UniqueFd(static_cast<int>(
        ::syscall(SYS_openat2, root->get(), path.empty() ? "." : path.c_str(), &how, sizeof how)));
  }

  // Watches the directory `name` in a watched one. Returns its watch, or 0: it cannot be watched,
  // and is a gap.
  Result<int> add(int parent, const std::string& name) {
    const std::string below = tree_.relative(parent);
    const UniqueFd dir = open_below(below.empty() ? name : below + "/" + name);
    if (!dir) {
      if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        send(kGap, path_of(parent, name), true);
      return 0;
    }
    if (tree_.nodes.size() >= kMostDirectories) return too_many_directories();
    const int watch = ::inotify_add_watch(inotify_.get(), proc_path(dir.get()).c_str(), kEvents);
    if (watch < 0) {
      if (errno == ENOENT || errno == ENOTDIR) return 0;
      if (errno == ENOSPC || errno == ENOMEM) return watch_error(errno, path_of(parent, name));
      send(kGap, path_of(parent, name), true);
      return 0;
    }
    if (tree_.nodes.contains(watch) && tree_.is_within(parent, watch)) return 0;
    const auto [at, fresh] = tree_.nodes.try_emplace(watch);
    if (!fresh) tree_.unlink_from_parent(watch);
    at->second.parent = parent;
    at->second.name = name;
    tree_.nodes.at(parent).directories[name] = watch;
    return watch;
  }

  // Lists a directory that is watched already, and goes on into those in it. Nothing is recursive:
  // a tree may be as deep as a path is long.
  Result<void> enter(int watch, Entries entries) {
    std::deque<int> left{watch};
    while (!left.empty()) {
      const int at = left.front();
      left.pop_front();
      if (!tree_.nodes.contains(at)) continue;
      const UniqueFd dir = open_below(tree_.relative(at));
      if (!dir) continue;  // gone or moved meanwhile: the queue has it
      const auto names = names_in(dir.get(), {});
      if (!names) continue;
      for (const std::string& name : *names) {
        channel_.heartbeat();
        if (is_numbered(name)) tree_.nodes.at(at).numbered.insert(name);
        struct stat info{};
        if (::fstatat(dir.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const bool directory = S_ISDIR(info.st_mode);
        if (entries == Entries::kNew && tree_.nodes.at(at).listed.insert(name).second) {
          unsettled_.insert(at);
          send(kCreated, path_of(at, name), directory);
        }
        if (!directory || !recursive_) continue;
        CAY_TRY(const int found, add(at, name));
        if (found > 0 && (seen_ == nullptr || seen_->insert(found).second)) left.push_back(found);
      }
    }
    return {};
  }

  // Ends the watches of a directory that left the tree, and of all below it.
  void forget(int watch) {
    std::deque<int> left{watch};
    while (!left.empty()) {
      const int at = left.front();
      left.pop_front();
      const auto node = tree_.nodes.find(at);
      if (node == tree_.nodes.end() || at == tree_.root) continue;
      for (const auto& [name, child] : node->second.directories) left.push_back(child);
      tree_.unlink_from_parent(at);
      tree_.nodes.erase(node);
      unsettled_.erase(at);
      ::inotify_rm_watch(inotify_.get(), at);
    }
  }

  // The queue has lost events. Finds every directory again, then reports it.
  Result<void> recover() {
    moves_.clear();
    temporary_.clear();
    for (const int at : unsettled_) {
      if (const auto node = tree_.nodes.find(at); node != tree_.nodes.end())
        node->second.listed.clear();
    }
    unsettled_.clear();
    std::set<int> seen;
    seen_ = &seen;
    const auto entered = enter(tree_.root, Entries::kKnown);
    seen_ = nullptr;
    CAY_CHECK(entered);
    if (recursive_) {
      std::vector<int> gone;
      for (const auto& [watch, node] : tree_.nodes) {
        if (watch != tree_.root && !seen.contains(watch)) gone.push_back(watch);
      }
      for (const int watch : gone) forget(watch);
    }
    send(kGap, shown_, true);
    return {};
  }

  Result<void> take(const char* bytes, std::size_t size) {
    while (size >= sizeof(inotify_event)) {
      inotify_event event{};
      std::memcpy(&event, bytes, sizeof event);
      const char* name = bytes + sizeof event;
      bytes += sizeof event + event.len;
      size -= sizeof event + event.len;
      const std::string text(name, event.len == 0 ? 0 : ::strnlen(name, event.len));
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        CAY_CHECK(recover());
      } else if (const auto node = tree_.nodes.find(event.wd); node != tree_.nodes.end()) {
        CAY_CHECK(one(event, text));
      }
    }
    return {};
  }

  Result<void> one(const inotify_event& event, const std::string& name) {
    const bool directory = (event.mask & IN_ISDIR) != 0;
    if (name.empty()) return of_itself(event);
    if (is_numbered(name) && !tree_.has_numbered(event, name)) return {};
    // A name that is used again: what it stood for has left.
    if ((event.mask & IN_MOVED_TO) == 0) flush_moves_of(event.wd, name);
    const bool temporary = take_temporary(event.wd, name);
    if ((event.mask & IN_MOVED_FROM) != 0) {
      tree_.nodes.at(event.wd).listed.erase(name);
      if (moves_.size() >= kMostMoves) flush_first_move();
      moves_.push_back({event.cookie, event.wd, name, directory, monotonic_ms(), temporary});
      return {};
    }
    if (temporary) send(kCreated, path_of(event.wd, name), false);
    if ((event.mask & IN_MOVED_TO) != 0) return moved_to(event, name, directory);
    const std::string path = path_of(event.wd, name);
    if ((event.mask & IN_CREATE) != 0) {
      if (tree_.nodes.at(event.wd).listed.erase(name) > 0) return {};  // sent already
      if (!directory && is_temporary_name(name) && temporary_.size() < kMostTemporary) {
        temporary_.push_back({event.wd, name, monotonic_ms()});
        return {};
      }
      send(kCreated, path, directory);
      if (directory && recursive_) return enter_new(event.wd, name);
    } else if ((event.mask & IN_DELETE) != 0) {
      tree_.nodes.at(event.wd).listed.erase(name);
      send(kDeleted, path, directory);
    } else if ((event.mask & IN_MODIFY) != 0) {
      send(kModified, path, directory);
    } else if ((event.mask & IN_ATTRIB) != 0) {
      send(kAttributes, path, directory);
    }
    return {};
  }

  Result<void> enter_new(int parent, const std::string& name) {
    CAY_TRY(const int watch, add(parent, name));
    if (watch > 0) {
      CAY_CHECK(enter(watch, Entries::kNew));
    }
    return {};
  }

  Result<void> moved_to(const inotify_event& event, const std::string& name, bool directory) {
    for (auto move = moves_.begin(); move != moves_.end(); ++move) {
      if (move->cookie != event.cookie) continue;
      const Move from = *move;
      moves_.erase(move);
      const auto source = tree_.nodes.find(from.parent);
      if (source == tree_.nodes.end()) break;
      const std::string old = path_of(from.parent, from.name);
      if (from.temporary) {
        if (from.parent == event.wd) {
          send(kModified, path_of(event.wd, name), false);
          return {};
        }
        send(kCreated, old, false);
      }
      if (const auto child = source->second.directories.find(from.name);
          directory && child != source->second.directories.end()) {
        const int watch = child->second;
        if (tree_.is_within(event.wd, watch))
          return recover();  // the view of the tree is out of date
        source->second.directories.erase(child);
        WatchedTree::Node& node = tree_.nodes.at(watch);
        node.parent = event.wd;
        node.name = name;
        tree_.nodes.at(event.wd).directories[name] = watch;
        send(kMoved, old, directory, path_of(event.wd, name));
        return {};
      }
      send(kMoved, old, directory, path_of(event.wd, name));
      if (directory && recursive_) return enter_new(event.wd, name);
      return {};
    }
    // From outside. Its content is new here.
    if (tree_.nodes.at(event.wd).listed.erase(name) > 0) return {};  // sent already
    send(kCreated, path_of(event.wd, name), directory);
    if (directory && recursive_) return enter_new(event.wd, name);
    return {};
  }

  // Events of a watched directory itself. Those of all but the root come from its parent, too.
  Result<void> of_itself(const inotify_event& event) {
    if (event.wd == tree_.root) {
      if ((event.mask & IN_ATTRIB) != 0) send(kAttributes, shown_, true);
      if ((event.mask & (IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) {
        return Error{Code::kNotFound, "watch_root_gone",
                     shown_ + ": the watched directory was removed", 0};
      }
      if ((event.mask & IN_MOVE_SELF) != 0) {
        return Error{Code::kNotFound, "watch_root_gone",
                     shown_ + ": the watched directory was moved away", 0};
      }
      return {};
    }
    if ((event.mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
      for (std::size_t i = 0; i < moves_.size();) {
        if (moves_[i].parent != event.wd) {
          ++i;
          continue;
        }
        const Move move = moves_[i];
        moves_.erase(moves_.begin() + static_cast<std::ptrdiff_t>(i));
        left_tree(move);
      }
      std::erase_if(temporary_, [&](const Temporary& one) { return one.parent == event.wd; });
      forget(event.wd);
    }
    return {};
  }

  // The second half of a move did not come: it led out of the tree.
  void left_tree(const Move& move) {
    const auto parent = tree_.nodes.find(move.parent);
    if (parent == tree_.nodes.end()) return;
    if (move.temporary) send(kCreated, path_of(move.parent, move.name), false);
    if (move.directory) send_temporaries(monotonic_ms());
    send(kDeleted, path_of(move.parent, move.name), move.directory);
    const auto child = parent->second.directories.find(move.name);
    if (move.directory && child != parent->second.directories.end()) forget(child->second);
  }
  void flush_first_move() {
    const Move move = moves_.front();
    moves_.pop_front();
    left_tree(move);
  }
  void flush_moves_of(int parent, const std::string& name) {
    for (auto move = moves_.begin(); move != moves_.end(); ++move) {
      if (move->parent != parent || move->name != name) continue;
      const Move left = *move;
      moves_.erase(move);
      return left_tree(left);
    }
  }

  bool take_temporary(int parent, const std::string& name) {
    return std::erase_if(temporary_, [&](const Temporary& one) {
             return one.parent == parent && one.name == name;
           }) > 0;
  }

  // Sends the new temporary files of before `time`.
  void send_temporaries(std::int64_t time) {
    while (!temporary_.empty() && temporary_.front().since <= time) {
      const Temporary one = temporary_.front();
      temporary_.pop_front();
      if (tree_.nodes.contains(one.parent)) send(kCreated, path_of(one.parent, one.name), false);
    }
  }

  // Does the work that waits for an empty queue, or for a time.
  void settle() {
    const std::int64_t now = monotonic_ms();
    while (!moves_.empty() && now - moves_.front().since >= kMoveMs) flush_first_move();
    send_temporaries(now - kMoveMs);
    if (unsettled_.empty()) return;
    int queued = 0;
    if (::ioctl(inotify_.get(), FIONREAD, &queued) != 0 || queued > 0) return;
    for (const int at : unsettled_) {
      if (const auto node = tree_.nodes.find(at); node != tree_.nodes.end())
        node->second.listed.clear();
    }
    unsettled_.clear();
  }

  FileChannel& channel_;
  const bool recursive_;
  const std::string asked_;
  std::string shown_;
  struct stat root_info_{};
  UniqueFd inotify_;
  WatchedTree tree_;
  std::set<int> unsettled_;        // directories with `listed`
  std::set<int>* seen_ = nullptr;  // in recover()
  std::deque<Move> moves_;
  std::deque<Temporary> temporary_;
  bool stands_ = false;                      // the keeper has its OK
  std::vector<wire::FileEventMsg> early_{};  // gaps of before
};

}  // namespace

Result<void> watch_directory(FileChannel& channel, const wire::FileOp& op) {
  Watcher watcher(channel, op);
  CAY_CHECK(watcher.open());
  channel.ok();
  return watcher.run();
}

}  // namespace cay::keeper
