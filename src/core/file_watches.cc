#include "core/file_watches.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "async/event.h"
#include "async/until_set.h"
#include "core/errors.h"
#include "core/validate.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostEvents = 65'536;  // that a watch keeps
constexpr std::size_t kMostEventBytes = 4 << 20;
constexpr std::size_t kMostEnded = 16;      // of a sandbox, beside those that watch
constexpr std::chrono::minutes kLinger{5};  // an ended one stays readable
constexpr std::int64_t kLeastIdle = 1, kMostIdle = 86'400;

std::size_t size_of(const FileEvent& event) {
  return sizeof event + event.path.size() + event.to.size();
}

Error watch_not_found(const std::string& id) {
  return {Code::kNotFound, "watch_not_found",
          "no watch '" + id +
              "': it ended some time ago, or with an earlier daemon. Begin another one, and list "
              "the directory for what happened meanwhile",
          0};
}

}  // namespace

struct FileWatchVerbs::Watch {
  explicit Watch(asio::any_io_executor loop)
      : stop(loop), over(loop), removed(loop), changed(loop) {}

  WatchInfo info;  // without first and last
  SandboxId sandbox;
  std::deque<FileEvent> events;  // the newest
  std::size_t bytes = 0;
  std::uint64_t last = 0;
  int readers = 0;
  std::chrono::steady_clock::time_point last_read = std::chrono::steady_clock::now();
  Error why{Code::kCancelled, "watch_closed", "the watch was removed", 0};  // once `stop` is set
  Event stop, over, removed, changed;

  std::uint64_t first() const { return last + 1 - events.size(); }
  WatchInfo shown() const {
    WatchInfo out = info;
    out.first = first();
    out.last = last;
    return out;
  }
  void add(FileEvent event) {
    event.seq = ++last;
    bytes += size_of(event);
    events.push_back(std::move(event));
    while (events.size() > kMostEvents || bytes > kMostEventBytes) {
      bytes -= size_of(events.front());
      events.pop_front();
    }
    changed.notify();
  }
  void end(Error reason) {
    why = std::move(reason);
    stop.set();
  }
  // Adds what comes until the source ends.
  static asio::awaitable<void> drain(std::shared_ptr<Watch> watch, FileWatch& source) {
    for (;;) {
      auto event = co_await source.next();
      if (!event) {
        watch->why = std::move(event).error();
        co_return;
      }
      watch->add(*std::move(event));
    }
  }
};

Task<void> FileWatchVerbs::pump(WatchPtr watch, std::unique_ptr<FileWatch> source) {
  auto all = Watch::drain(watch, *source);
  co_await first_of(std::move(all), watch->stop);
  source.reset();
  watch->info.ended = watch->why;
  watch->over.set();
  watch->changed.notify();
  co_return Result<void>();
}

// Ends a watch that nobody reads, and forgets one that has ended.
Task<void> FileWatchVerbs::attend(std::shared_ptr<All> all, WatchPtr watch) {
  const std::chrono::seconds idle(watch->info.idle_s);
  while (!watch->over.is_set()) {
    const auto now = std::chrono::steady_clock::now();
    const auto due = (watch->readers > 0 ? now : watch->last_read) + idle;
    if (now >= due) {
      watch->end({Code::kNotFound, "watch_idle",
                  "nobody read the watch for " + std::to_string(watch->info.idle_s) +
                      " s: begin another one",
                  0});
    }
    co_await watch->over.wait_until(std::max(due, now + std::chrono::milliseconds(10)));
  }
  co_await watch->removed.wait_until(std::chrono::steady_clock::now() + kLinger);
  all->erase(watch->info.id);
  co_return Result<void>();
}

Task<WatchInfo> FileWatchVerbs::open(Principal who, std::string ref, WatchSpec spec) {
  CAY_CO_CHECK(check_path(spec.path));
  CAY_CO_CHECK(check_as(spec.as));
  if (spec.idle_s < kLeastIdle || spec.idle_s > kMostIdle)
    co_return invalid("invalid_query", "idle_s is 1 to 86400 seconds");
  if (jobs_.closing) co_return shutting_down();
  CAY_CO_TRY(const Held held, co_await wake_.live(std::move(who), std::move(ref)));
  auto live = held.live;
  CAY_CO_TRY(auto source, co_await live->watch(spec.path, spec.as, spec.recursive));
  make_room(held.entry->row.id);
  auto watch = std::make_shared<Watch>(jobs_.loop());
  watch->sandbox = held.entry->row.id;
  watch->info.id = new_uuid();
  watch->info.path = spec.path;
  watch->info.user = spec.as.user;
  watch->info.recursive = spec.recursive;
  watch->info.idle_s = spec.idle_s;
  all_->emplace(watch->info.id, watch);
  jobs_.spawn(pump(watch, std::move(source)));
  jobs_.spawn(attend(all_, watch));
  co_return watch->shown();
}

// Forgets the oldest ended watches of a sandbox that has many.
void FileWatchVerbs::make_room(const SandboxId& sandbox) {
  std::vector<WatchPtr> ended;
  for (const auto& [id, watch] : *all_) {
    if (watch->sandbox == sandbox && watch->info.ended && !watch->removed.is_set())
      ended.push_back(watch);
  }
  if (ended.size() < kMostEnded) return;
  std::ranges::sort(ended, {}, [](const WatchPtr& watch) { return watch->last_read; });
  for (std::size_t i = 0; i + kMostEnded <= ended.size(); ++i) ended[i]->removed.set();
}

Result<FileWatchVerbs::WatchPtr> FileWatchVerbs::find(const Entry& entry,
                                                      const std::string& id) const {
  const auto found = all_->find(id);
  if (found == all_->end() || found->second->sandbox != entry.row.id) return watch_not_found(id);
  return found->second;
}

Task<std::vector<WatchInfo>> FileWatchVerbs::list(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, wake_.registry().find(who, ref));
  std::vector<WatchInfo> out;
  for (const auto& [id, watch] : *all_) {
    if (watch->sandbox == entry->row.id) out.push_back(watch->shown());
  }
  co_return out;
}

Task<WatchPage> FileWatchVerbs::read(Principal who, std::string ref, std::string id,
                                     std::uint64_t after, std::uint32_t limit, Millis wait) {
  CAY_CO_TRY(const auto entry, wake_.registry().find(who, ref));
  CAY_CO_TRY(const auto watch, find(*entry, id));
  if (after > watch->last) {
    co_return Error{Code::kOutOfRange, "offset_past_end",
                    "the newest event of this watch is " + std::to_string(watch->last), 0};
  }
  struct Reading {
    Watch& watch;
    explicit Reading(Watch& of) : watch(of) { ++watch.readers; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
      --watch.readers;
      watch.last_read = std::chrono::steady_clock::now();
    }
  } const reading(*watch);
  const auto deadline = deadline_in(wait);
  if (wait.count() > 0 && watch->last == after && !watch->info.ended) {
    std::optional<Held> held;  // whoever waits uses the sandbox
    if (entry->runs()) {
      auto live = co_await wake_.live(entry, who);
      if (live) held = *std::move(live);
    }
    while (watch->last == after && !watch->info.ended) {
      auto in_time = co_await watch->changed.wait_until(deadline);
      if (!in_time) break;
    }
  }
  WatchPage page;
  const std::uint64_t first = watch->first();
  if (after + 1 < first) {
    page.gap_begin = after + 1;
    page.gap_end = first - 1;
    after = first - 1;
  }
  for (std::uint64_t at = after + 1; at <= watch->last && page.items.size() < limit; ++at)
    page.items.push_back(watch->events[static_cast<std::size_t>(at - first)]);
  page.next_after = after + page.items.size();
  if (page.next_after == watch->last) page.ended = watch->info.ended;
  co_return page;
}

Task<void> FileWatchVerbs::close(Principal who, std::string ref, std::string id) {
  CAY_CO_TRY(const auto entry, wake_.registry().find(who, ref));
  CAY_CO_TRY(const auto watch, find(*entry, id));
  watch->end({Code::kCancelled, "watch_closed", "the watch was removed", 0});
  watch->removed.set();
  all_->erase(id);
  co_return Result<void>();
}

void FileWatchVerbs::stop() {
  for (const auto& [id, watch] : *all_) {
    watch->end(shutting_down());
    watch->removed.set();
  }
}

}  // namespace cay::core
