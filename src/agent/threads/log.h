// ThreadLog: the events of all threads of a user, in one SQLite file. Events are appended and never
// changed.
//
// One process at a time writes a thread: it holds the thread's lease, and renews it by writing.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/threads/event.h"
#include "base/result.h"
#include "codec/json.h"

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
};

// An event as `--json` and exports have it: {"seq":1,"type":…,"at":…, members}.
codec::json::object to_json(const ThreadEvent& event);
std::string to_line(const ThreadEvent& event);  // without a newline
Result<ThreadEvent> event_from_json(const codec::json::object& value);

// A lease of one thread: the right to append to it. Ends with the object, or with its process.
class ThreadLease {
 public:
  virtual ~ThreadLease() = default;
};

// One thread uses a log, and several processes may. Every method may fail kUnavailable
// (store_failed).
class ThreadLog {
 public:
  // Makes the file (mode 0600) and its directory (0700) where they are missing. Fails kUnsupported
  // (store_too_new).
  static Result<std::unique_ptr<ThreadLog>> open(std::string path);
  virtual ~ThreadLog() = default;

  // Makes a thread without events. `parent` empty: none.
  virtual Result<std::string> create(std::string parent) = 0;
  // Fails kNotFound (thread_not_found), and kNotReady (thread_busy) while another process runs it.
  virtual Result<std::unique_ptr<ThreadLease>> lease(const std::string& thread) = 0;
  // Appends with the next number and the time of now, and returns the event as it is in the log.
  // The event outlives the process. Fails kLost (thread_taken) without the lease.
  virtual Result<ThreadEvent> append(const std::string& thread, std::string type,
                                     codec::json::object data) = 0;
  // The events with numbers above `after`. Fails kNotFound (thread_not_found).
  virtual Result<std::vector<ThreadEvent>> events(const std::string& thread,
                                                  std::uint64_t after) = 0;
  virtual Result<ThreadInfo> info(const std::string& thread) = 0;
  // The newest first; those of subagents only with `children`.
  virtual Result<std::vector<ThreadInfo>> list(bool children) = 0;
  // Makes a thread with a copy of the events up to `to_seq`.
  virtual Result<std::string> fork(const std::string& thread, std::uint64_t to_seq) = 0;
  // Removes a thread and those of its subagents.
  virtual Result<void> remove(const std::string& thread) = 0;
};

// All events, one JSON object a line.
Result<std::string> export_jsonl(ThreadLog& log, const std::string& thread);

}  // namespace cay::agent
