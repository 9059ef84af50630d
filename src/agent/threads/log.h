// ThreadLog: the events of all threads of a user, in one SQLite file. Events are appended and never
// changed.
//
// One process at a time writes a thread: the one that holds its lease.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/threads/event.h"
#include "agent/threads/lease.h"
#include "agent/threads/spending.h"
#include "base/result.h"
#include "codec/json.h"
#include "db/database.h"

namespace cay::agent {

// $CAY_STATE_DIR/threads.db, else $XDG_STATE_HOME/cay, else ~/.local/share/cay.
std::string default_state_path();

struct ThreadInfo {
  std::string id;
  std::string parent;  // of a subagent's thread; empty: none
  std::int64_t created_ms = 0, updated_ms = 0;
  std::uint64_t events = 0;
  std::string title;  // the beginning of its first input
  std::string state;  // of its last run: "done", "waiting"; "running" or "" before its end
  Spending spent;     // of its runs, with their subagents, as of each run's last end
};

// One OS thread uses a log, and several processes may. Every method may fail kUnavailable
// (store_failed).
class ThreadLog {
 public:
  // Makes the file (mode 0600) and its directory (0700) where they are missing. Fails kUnsupported
  // (store_too_new).
  static Result<std::unique_ptr<ThreadLog>> open(std::string path);

  // Makes a thread without events, and returns its id. `parent` empty: none. `id` empty: a new one.
  // Fails kAlreadyExists (thread_exists).
  Result<std::string> create(const std::string& parent, std::string id = {});
  // Takes the right to append. It ends with the log, or by release(). Fails kNotFound
  // (thread_not_found), and kNotReady (thread_busy) while another one has it.
  Result<void> lease(const std::string& thread);
  void release(const std::string& thread);

  // Appends with the next number and the time of now, and returns the event as it is in the log.
  // The event outlives the process. Fails kNotReady (thread_busy) without the lease.
  Result<ThreadEvent> append(const std::string& thread, std::string type, codec::json::object data);

  // The events with numbers above `after`. Fails kNotFound (thread_not_found).
  Result<std::vector<ThreadEvent>> events(const std::string& thread, std::uint64_t after = 0);
  Result<ThreadInfo> info(const std::string& thread);
  // The newest first; those of subagents only with `children`.
  Result<std::vector<ThreadInfo>> list(bool children = false);

  // Returns the threads of subagents below this one, of any depth.
  Result<std::vector<std::string>> below(const std::string& thread);

  // Makes a thread with a copy of the events up to `to_seq` (0: all of them), and the event
  // `forked`. Its sandbox is a copy too, made when the thread is opened.
  Result<std::string> fork(const std::string& thread, std::uint64_t to_seq = 0);
  // Removes a thread and those of its subagents. Fails kNotReady (thread_busy).
  Result<void> remove(const std::string& thread);

 private:
  struct Leased {
    std::int64_t number;
    std::uint64_t last;
    Lease lease;
  };
  ThreadLog(std::unique_ptr<db::Database> db, std::string path)
      : db_(std::move(db)), lock_path_(std::move(path) + ".lock") {}
  Result<std::int64_t> number_of(const std::string& thread);
  Result<std::vector<ThreadInfo>> infos(const std::string& where, const std::string& argument);
  Result<Spending> spent_by(const std::string& thread);
  Result<void> note(std::int64_t number, const ThreadEvent& event);

  std::unique_ptr<db::Database> db_;
  std::string lock_path_;
  std::map<std::string, Leased> leased_;
};

// All events of a thread, one JSON object a line.
Result<std::string> export_jsonl(ThreadLog& log, const std::string& thread);

}  // namespace cay::agent
