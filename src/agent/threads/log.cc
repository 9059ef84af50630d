#include "agent/threads/log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "agent/llm/message.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "codec/utf8.h"
#include "db/migrations.h"
#include "model/ids.h"

namespace cay::agent {
namespace {

constexpr std::array<const char*, 1> kSteps = {
    R"sql(
CREATE TABLE thread (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  parent     TEXT NOT NULL,
  title      TEXT NOT NULL,
  state      TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX thread_by_parent ON thread (parent);
CREATE TABLE event (
  thread INTEGER NOT NULL REFERENCES thread (number) ON DELETE CASCADE,
  seq    INTEGER NOT NULL,
  type   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  data   TEXT NOT NULL,
  PRIMARY KEY (thread, seq)
) STRICT;
)sql",
};
constexpr std::size_t kTitle = 80;
// The thread and all below it.
constexpr const char* kBelow =
    "WITH RECURSIVE below (id) AS (SELECT ? UNION "
    "SELECT thread.id FROM thread JOIN below ON thread.parent = below.id) ";

Error not_found(const std::string& thread) {
  return Error{Code::kNotFound, "thread_not_found", "there is no thread " + thread, 0};
}

Error os_failed(const std::string& what) {
  const int number = errno;
  return Error{Code::kUnavailable, "store_failed", what + ": " + std::strerror(number), number};
}

// The text of a user's message, on one line.
std::string title_of(const codec::json::object& data) {
  const auto* value = data.if_contains("message");
  if (value == nullptr || !value->is_object()) return {};
  const auto message = message_from_json(value->get_object());
  if (!message) return {};
  std::string text = message->text();
  for (char& c : text) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  }
  if (text.size() > kTitle) text.resize(codec::previous_boundary(text, kTitle));
  return text;
}

std::string string_of(const codec::json::object& data, const char* name) {
  const auto* value = data.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

std::string default_state_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const auto own = variable("CAY_STATE_DIR"); !own.empty()) return own + "/threads.db";
  if (const auto xdg = variable("XDG_STATE_HOME"); !xdg.empty()) return xdg + "/cay/threads.db";
  return variable("HOME") + "/.local/share/cay/threads.db";
}

Result<std::unique_ptr<ThreadLog>> ThreadLog::open(std::string path) {
  if (path.empty()) path = default_state_path();
  const auto directory = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!directory.empty() && !std::filesystem::exists(directory, failed)) {
    std::filesystem::create_directories(directory.parent_path(), failed);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return os_failed("make the directory " + directory.string());
    }
  }
  // One process makes the tables, and the others find them. Threads have numbers from 1.
  CAY_TRY(const auto alone, Lease::wait(path + ".lock", 0));
  // SQLite gives its log and its index the mode of the file. A descriptor of a file that this
  // process has open already must never be closed: that drops SQLite's locks on it. So a file that
  // is there is not opened here.
  UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made && errno != EEXIST) return os_failed("open " + path);
  made.reset();
  CAY_TRY(auto db, db::Database::open(path, {"the threads (" + path + ")",
                                             "move the file away to begin without threads"}));
  CAY_CHECK(db->execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; "
      "PRAGMA trusted_schema = OFF"));
  const db::Migrations history{kSteps, path, 0};
  CAY_CHECK(db::migrate(*db, history, history.newest()));
  return std::unique_ptr<ThreadLog>(new ThreadLog(std::move(db), std::move(path)));
}

Result<std::int64_t> ThreadLog::number_of(const std::string& thread) {
  CAY_TRY(auto row, db_->prepare("SELECT number FROM thread WHERE id = ?"));
  CAY_TRY(const bool found, row.bind(thread).step());
  if (!found) return not_found(thread);
  return row.number(0);
}

Result<std::string> ThreadLog::create(const std::string& parent, std::string id) {
  if (id.empty()) id = new_uuid();
  CAY_TRY(auto row, db_->prepare("INSERT INTO thread (id, parent, title, state, created_at) "
                                 "VALUES (?, ?, '', '', ?)"));
  auto done = row.bind(id).bind(parent).bind(system_clock().wall()).run();
  if (!done && done.error().code == Code::kAlreadyExists) {
    return Error{Code::kAlreadyExists, "thread_exists", "there is a thread " + id + " already", 0};
  }
  if (!done) return std::move(done).error();
  return id;
}

Result<void> ThreadLog::lease(const std::string& thread) {
  if (leased_.contains(thread)) {
    return Error{Code::kNotReady, "thread_busy", "this process runs the thread " + thread, 0};
  }
  CAY_TRY(const auto number, number_of(thread));
  CAY_TRY(auto lease, Lease::take(lock_path_, number));
  CAY_TRY(auto row, db_->prepare("SELECT coalesce(max(seq), 0) FROM event WHERE thread = ?"));
  CAY_CHECK(row.bind(number).step());
  const auto last = static_cast<std::uint64_t>(row.number(0));
  leased_.emplace(thread, Leased{number, last, std::move(lease)});
  return {};
}

void ThreadLog::release(const std::string& thread) { leased_.erase(thread); }

Result<void> ThreadLog::note(std::int64_t number, const ThreadEvent& event) {
  if (event.type == "user_message") {
    CAY_TRY(auto row, db_->prepare("UPDATE thread SET title = ? WHERE number = ? AND title = ''"));
    return row.bind(title_of(event.data)).bind(number).run();
  }
  if (event.type != "run_started" && event.type != "run_ended") return {};
  CAY_TRY(auto row, db_->prepare("UPDATE thread SET state = ? WHERE number = ?"));
  const bool started = event.type == "run_started";
  return row.bind(started ? "running" : string_of(event.data, "state")).bind(number).run();
}

Result<ThreadEvent> ThreadLog::append(const std::string& thread, std::string type,
                                      codec::json::object data) {
  const auto held = leased_.find(thread);
  if (held == leased_.end()) {
    return Error{Code::kNotReady, "thread_busy", "the thread " + thread + " is not leased", 0};
  }
  ThreadEvent event{held->second.last + 1, std::move(type), system_clock().wall(), std::move(data)};
  CAY_TRY(auto transaction, db::Transaction::begin(*db_));
  {
    CAY_TRY(auto row, db_->prepare("INSERT INTO event (thread, seq, type, at, data) "
                                   "VALUES (?, ?, ?, ?, ?)"));
    row.bind(held->second.number).bind(static_cast<std::int64_t>(event.seq)).bind(event.type);
    CAY_CHECK(row.bind(event.at_ms).bind(codec::write(event.data)).run());
  }
  CAY_CHECK(note(held->second.number, event));
  CAY_CHECK(transaction.commit());
  held->second.last = event.seq;
  return event;
}

Result<std::vector<ThreadEvent>> ThreadLog::events(const std::string& thread, std::uint64_t after) {
  CAY_TRY(const auto number, number_of(thread));
  CAY_TRY(auto row, db_->prepare("SELECT seq, type, at, data FROM event "
                                 "WHERE thread = ? AND seq > ? ORDER BY seq"));
  row.bind(number).bind(static_cast<std::int64_t>(after));
  std::vector<ThreadEvent> out;
  for (;;) {
    CAY_TRY(const bool more, row.step());
    if (!more) return out;
    CAY_TRY(auto data, codec::parse_object(row.text(3)));
    out.push_back(
        {static_cast<std::uint64_t>(row.number(0)), row.text(1), row.number(2), std::move(data)});
  }
}

// A run that went on after its end, such as an approval, has several ends. The last one has it all.
Result<Spending> ThreadLog::spent_by(const std::string& thread) {
  CAY_TRY(const auto number, number_of(thread));
  CAY_TRY(auto row, db_->prepare("SELECT data FROM event WHERE thread = ? AND type = 'run_ended' "
                                 "ORDER BY seq"));
  row.bind(number);
  std::map<std::string, Spending> runs;
  for (;;) {
    CAY_TRY(const bool more, row.step());
    if (!more) break;
    CAY_TRY(const auto data, codec::parse_object(row.text(0)));
    runs[string_of(data, "run")] = spending_in(data);
  }
  Spending out;
  for (const auto& [run, spent] : runs) out += spent;
  return out;
}

Result<std::vector<ThreadInfo>> ThreadLog::infos(const std::string& where,
                                                 const std::string& argument) {
  CAY_TRY(auto row,
          db_->prepare("SELECT id, parent, created_at, title, state, "
                       "(SELECT count(*) FROM event WHERE thread = number), "
                       "(SELECT max(at) FROM event WHERE thread = number) AS updated "
                       "FROM thread WHERE " +
                       where + " ORDER BY coalesce(updated, created_at) DESC, number DESC"));
  row.bind(argument);
  std::vector<ThreadInfo> out;
  for (;;) {
    CAY_TRY(const bool more, row.step());
    if (!more) break;
    ThreadInfo info;
    info.id = row.text(0);
    info.parent = row.text(1);
    info.created_ms = row.number(2);
    info.title = row.text(3);
    info.state = row.text(4);
    info.events = static_cast<std::uint64_t>(row.number(5));
    info.updated_ms = row.is_null(6) ? info.created_ms : row.number(6);
    out.push_back(std::move(info));
  }
  for (auto& info : out) {
    CAY_TRY(info.spent, spent_by(info.id));
  }
  return out;
}

Result<ThreadInfo> ThreadLog::info(const std::string& thread) {
  CAY_TRY(auto found, infos("id = ?", thread));
  if (found.empty()) return not_found(thread);
  return std::move(found.front());
}

Result<std::vector<ThreadInfo>> ThreadLog::list(bool children) {
  return infos(children ? "? = ''" : "parent = ?", "");
}

Result<std::vector<std::string>> ThreadLog::below(const std::string& thread) {
  CAY_TRY(auto row, db_->prepare(std::string(kBelow) + "SELECT id FROM below WHERE id != ?"));
  row.bind(thread).bind(thread);
  std::vector<std::string> out;
  for (;;) {
    CAY_TRY(const bool more, row.step());
    if (!more) return out;
    out.push_back(row.text(0));
  }
}

Result<std::string> ThreadLog::fork(const std::string& thread, std::uint64_t to_seq) {
  CAY_TRY(auto copied, events(thread));
  if (to_seq == 0 && !copied.empty()) to_seq = copied.back().seq;
  if (copied.empty() || to_seq > copied.back().seq) {
    return Error{Code::kOutOfRange, "no_such_event",
                 "the thread " + thread + " has no event " + std::to_string(to_seq), 0};
  }
  CAY_TRY(auto id, create(""));
  CAY_CHECK(lease(id));
  for (auto& event : copied) {
    if (event.seq > to_seq) break;
    auto added = append(id, event.type, std::move(event.data));
    if (!added) return std::move(added).error();
  }
  codec::json::object from;
  from["from"] = thread;
  from["to_seq"] = to_seq;
  auto added = append(id, "forked", std::move(from));
  release(id);
  if (!added) return std::move(added).error();
  return id;
}

Result<void> ThreadLog::remove(const std::string& thread) {
  const bool mine = leased_.contains(thread);
  if (!mine) {
    CAY_CHECK(lease(thread));
  }
  CAY_TRY(auto row, db_->prepare(std::string(kBelow) + "DELETE FROM thread WHERE id IN below"));
  auto done = row.bind(thread).run();
  release(thread);
  return done;
}

Result<std::string> export_jsonl(ThreadLog& log, const std::string& thread) {
  CAY_TRY(const auto events, log.events(thread));
  std::string out;
  for (const auto& event : events) out += to_line(event) + '\n';
  return out;
}

}  // namespace cay::agent
