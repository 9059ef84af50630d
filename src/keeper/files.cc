#include "keeper/files.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "keeper/file_task.h"
#include "wire/keeper_features.h"

namespace cay::keeper {
namespace {

using wire::FileVerb;
using wire::Type;

constexpr std::int64_t kTickMs = 200;
constexpr std::int64_t kTidyMs = 1000;  // a helper's time to remove its temporary file
constexpr std::uint64_t kMostCredit = std::uint64_t{1} << 40;
constexpr std::size_t kMostReused = 32 * 1024;  // bytes of a request: its helper reads it at once

bool valid(const wire::FileOp& op) {
  for (const std::string* text : {&op.path, &op.to, &op.user, &op.workdir}) {
    if (text->size() > 8192 || text->find('\0') != std::string::npos) return false;
  }
  return op.verb >= static_cast<std::uint8_t>(FileVerb::kStat) &&
         op.verb <= static_cast<std::uint8_t>(FileVerb::kWatch) && !op.path.empty() &&
         op.pattern.size() <= 65536 && op.file_glob.size() <= 4096 && op.owner.size() <= 128 &&
         op.owner.find('\0') == std::string::npos;
}

bool uploads(FileVerb verb) {
  return verb == FileVerb::kWrite || verb == FileVerb::kWriteTree || verb == FileVerb::kWriteLayer;
}

bool only_reads(FileVerb verb) {
  return verb == FileVerb::kStat || verb == FileVerb::kRead || verb == FileVerb::kList ||
         verb == FileVerb::kGlob || verb == FileVerb::kGrep;
}

bool of_layer(FileVerb verb) {
  return verb == FileVerb::kWriteLayer || verb == FileVerb::kReadLayer;
}

bool relative(const std::string& path) { return !path.empty() && path.front() != '/'; }

}  // namespace

void Files::start(ReplyTo to, wire::FileOp op) {
  if (!valid(op)) {
    return shop_.outbox.fail(
        to, Error{Code::kInvalidArgument, "bad_path", "a path is 1 to 8192 bytes without NUL", 0});
  }
  if (queue_.size() >= kMostQueued) {
    return shop_.outbox.fail(
        to, Error{Code::kExhausted, "too_many_file_operations",
                  "too many file operations at once in this sandbox: retry later", 0});
  }
  auto job = std::make_shared<FileJob>();
  job->to = to;
  job->credit = std::min(op.credit, kMostCredit);
  const auto verb = static_cast<FileVerb>(op.verb);
  if (verb == FileVerb::kWriteLayer && shop_.context.bare_root_fd < 0) {
    return shop_.outbox.fail(to, Error{Code::kUnsupported, "no_layers",
                                       "this sandbox takes no layers: its launcher gave it no root "
                                       "without mounts",
                                       0});
  }
  if (verb == FileVerb::kWatch && watchers_ >= kMostWatchers) {
    return shop_.outbox.fail(to, Error{Code::kExhausted, "too_many_watches",
                                       "this sandbox has " + std::to_string(kMostWatchers) +
                                           " watched directories already: remove a watch first",
                                       0});
  }
  job->uploads = uploads(verb);
  if (verb == FileVerb::kWrite) job->upload_credit = wire::kUploadAhead;
  job->deadline_ms = op.deadline_ms > 0 ? op.deadline_ms : shop_.context.file_deadline_ms;
  // A search ends by itself at its deadline and sends its results so far.
  if (verb == FileVerb::kGlob || verb == FileVerb::kGrep || verb == FileVerb::kReplace)
    job->deadline_ms += 5000;
  job->op = std::move(op);
  jobs_.emplace(to.channel, job);
  if (verb == FileVerb::kWatch) {
    ++watchers_;
    return launch(job);
  }
  if (reuse(job)) return;
  if (helpers_ >= kMostHelpers) {
    queue_.push_back(job);
  } else {
    launch(job);
  }
}

void Files::launch(const FileJobPtr& job) {
  int ends[2];
  if (slot_ == nullptr) {
    int error = 0;
    slot_ = shop_.slots.take_for_keeper(error);
    if (slot_ == nullptr)
      return fail(job, Error::from_errno(error, "make a cgroup for file work", "start_failed"));
  }
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(job, Error::from_errno(errno, "make a socket for file work", "start_failed"));
  }
  job->socket.reset(ends[0]);
  job->helper_end.reset(ends[1]);
  Program program;
  const FileVerb verb = job->verb();
  const bool watches = verb == FileVerb::kWatch;
  program.user = of_layer(verb) ? "" : job->op.user;  // a layer has owners: root alone sets them
  if (verb == FileVerb::kWriteLayer) program.layer_root_fd = shop_.context.bare_root_fd;
  const bool needs_workdir = relative(job->op.path) || relative(job->op.to);
  program.cwd = needs_workdir && !job->op.workdir.empty() ? job->op.workdir : "/";
  program.task = &run_file_task;
  program.task_data = &job->op;
  program.task_fd = ends[1];
  job->starting = true;
  job->oom_before = slot_->oom_kills();
  if (!watches) ++helpers_;
  shop_.spawner.start(std::move(program), *slot_,
                      [this, job](Result<Started> result) { on_started(job, std::move(result)); });
}

bool Files::reuse(const FileJobPtr& job) {
  if (!may_be_followed(job->op)) return false;
  std::string request = wire::encode_frame({.type = static_cast<std::uint16_t>(Type::kFileOp),
                                            .flags = 0,
                                            .channel = 0,
                                            .payload = wire::encode(job->op)});
  if (request.size() > kMostReused) return false;
  auto helper = waiting_.take(job->op.user);
  if (!helper) return false;
  job->reused = true;
  job->socket = std::move(helper->socket);
  job->pid = helper->pid;
  job->oom_before = slot_->oom_kills();
  job->last_progress = monotonic_ms();
  job->out.append(request);
  job->watch = shop_.loop.watch(job->socket.get(), EPOLLIN,
                                [this, job](std::uint32_t ready) { on_events(job, ready); });
  // Later, so that frames behind the request go with it.
  job->flush_due = true;
  shop_.loop.defer([this, job] {
    job->flush_due = false;
    if (job->watch && !job->cancelled && !job->flush()) start_anew(job);
  });
  arm_tick();
  return true;
}

void Files::start_anew(const FileJobPtr& job) {
  job->watch.reset();
  job->socket.reset();
  leave(std::exchange(job->pid, 0));
  job->reused = false;
  job->helper_eof = false;
  job->reader = wire::FrameReader();
  job->out = OutBuffer();
  job->out.append(std::exchange(job->unheard, {}));
  launch(job);
}

void Files::start_queued() {
  while (!queue_.empty() && helpers_ < kMostHelpers) {
    const FileJobPtr job = queue_.front();
    queue_.pop_front();
    if (!job->cancelled) launch(job);
  }
}

void Files::on_started(const FileJobPtr& job, Result<Started> result) {
  job->starting = false;
  job->helper_end.reset();
  std::size_t& count = job->verb() == FileVerb::kWatch ? watchers_ : helpers_;
  if (!result) {
    --count;
    if (!job->cancelled) fail(job, result.error());
    return start_queued();
  }
  job->pid = result->pid;
  job->last_progress = monotonic_ms();
  const auto gone = [this, &count, pid = result->pid](const Exit&) {
    --count;
    on_reaped(pid);
  };
  if (result->exit) {
    gone(*result->exit);
    job->pid = 0;
  } else {
    shop_.reaper.expect(result->pid, gone);
  }
  if (job->cancelled) return end(job);
  job->watch = shop_.loop.watch(job->socket.get(), EPOLLIN,
                                [this, job](std::uint32_t ready) { on_events(job, ready); });
  // A helper that is gone is reported by the reading side.
  static_cast<void>(job->flush());
  arm_tick();
}

// From here on the number may be another process's.
void Files::on_reaped(pid_t pid) {
  leaving_.erase(pid);
  waiting_.forget(pid);
  for (const auto& [channel, job] : jobs_) {
    if (job->pid == pid) job->pid = 0;
  }
  start_queued();
}

void Files::on_frame(std::uint32_t channel, Type type, std::string_view payload) {
  const FileJobPtr job = jobs_.at(channel);
  const auto overrun = [&] {
    fail(job, Error{Code::kInvalidArgument, "upload_overrun",
                    "more data was sent than was requested", 0});
  };
  if (type == Type::kCancel) return end(job);
  if (type == Type::kCredit) {
    const auto credit = wire::decode<wire::Credit>(payload);
    if (!credit) return;
    job->credit = std::min(kMostCredit, job->credit + std::min(kMostCredit, credit->bytes));
  } else if (!job->uploads || job->daemon_done) {
    return overrun();
  } else if (type == Type::kBulk) {
    // Only after all that needs no credit, so that a helper has responded.
    if (job->bulk || job->verb() != FileVerb::kWrite || (job->reused && !job->heard))
      return overrun();
    const auto opened = job->open_bulk(shop_.outbox);
    if (!opened) return fail(job, opened.error());
  } else if (type == Type::kData) {
    const auto data = wire::decode_data(payload);
    if (!data || job->bulk || data->bytes.size() > job->upload_credit) return overrun();
    job->upload_credit -= data->bytes.size();
  } else if (type == Type::kFileInfo || type == Type::kLayerEntry) {
    if (payload.size() > job->upload_credit) return overrun();
    job->upload_credit -= payload.size();
  } else if (type == Type::kEof) {
    job->daemon_done = true;
  }
  job->pass_on(type, payload);
  job->last_progress = monotonic_ms();
  if (!job->watch || std::exchange(job->flush_due, true)) return;
  // Once for all frames that came together: the entries of a layer are many and small.
  shop_.loop.defer([job] {
    job->flush_due = false;
    if (job->watch) static_cast<void>(job->flush());
  });
}

void Files::on_events(const FileJobPtr& job, std::uint32_t ready) {
  if ((ready & EPOLLOUT) != 0) static_cast<void>(job->flush());
  if ((ready & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || job->blocked || job->helper_eof) {
    // A helper that hung up while we do not read: level-triggered news we cannot use now.
    if (job->blocked && (ready & (EPOLLHUP | EPOLLERR)) != 0) job->watch.reset();
    return;
  }
  static std::array<char, 128 * 1024> buffer;
  const ssize_t got = ::recv(job->socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // With ECONNRESET it ended before it had read all. The last frame is the one that begins the
  // operation, or that ends the upload, so it has changed nothing.
  const bool unread = got < 0 && errno == ECONNRESET;
  if (got <= 0 && job->reused && !job->heard && (unread || only_reads(job->verb())))
    return start_anew(job);
  if (got <= 0) {
    job->helper_eof = true;
  } else {
    job->last_progress = monotonic_ms();
    job->reader.feed(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  }
  relay(job);
}

void Files::relay(const FileJobPtr& job) {
  while (shop_.outbox.room()) {
    auto frame = job->reader.next();
    if (!frame) {
      job->blocked = false;
      if (job->reader.bad()) {
        return fail(job, Error{Code::kUnavailable, "file_helper_died",
                               "the file helper spoke nonsense: retry", 0});
      }
      if (job->helper_eof) {
        const bool oom = slot_->oom_kills() != job->oom_before;
        return fail(job,
                    oom ? Error{Code::kExhausted, "memory_limit",
                                "the sandbox is out of memory: free some and retry", ENOMEM}
                        : Error{Code::kUnavailable, "file_helper_died",
                                "the file helper was ended from inside the sandbox: retry", 0});
      }
      if (!job->watch) {
        job->watch = shop_.loop.watch(job->socket.get(), EPOLLIN,
                                      [this, job](std::uint32_t ready) { on_events(job, ready); });
      }
      return job->want();
    }
    if (!forward(job, *frame)) return;
  }
  job->blocked = true;
  job->want();
}

bool Files::forward(const FileJobPtr& job, const wire::Frame& frame) {
  const auto type = static_cast<Type>(frame.type);
  if (type == Type::kCancel && job->reused && !job->heard) {
    start_anew(job);
    return false;
  }
  job->heard = true;
  job->unheard = {};
  switch (job->judge(frame)) {
    case FileJob::Word::kNonsense:
      fail(job, Error{Code::kUnavailable, "file_helper_died",
                      "the file helper spoke nonsense: retry", 0});
      return false;
    case FileJob::Word::kIgnored: return true;
    case FileJob::Word::kBulkRequest:
      if (const auto opened = job->open_bulk(shop_.outbox); !opened) {
        fail(job, opened.error());
        return false;
      }
      job->pass_on(type, frame.payload);
      static_cast<void>(job->flush());
      return true;
    case FileJob::Word::kPassOn: shop_.outbox.send(job->to, type, frame.payload); return true;
    case FileJob::Word::kLast: break;
  }
  shop_.outbox.send(job->to, type, frame.payload);
  const bool waits = may_be_followed(job->op) && job->pid != 0 && job->out.empty() &&
                     job->reader.buffered() == 0 && queue_.empty();
  if (!waits) {
    end(job);
    return false;
  }
  jobs_.erase(job->to.channel);
  job->cancelled = true;
  job->watch.reset();
  waiting_.add({job->op.user, std::move(job->socket), std::exchange(job->pid, 0)});
  return false;
}

void Files::pump() {
  std::vector<FileJobPtr> blocked;
  for (const auto& [channel, job] : jobs_) {
    if (job->blocked) blocked.push_back(job);
  }
  for (const FileJobPtr& job : blocked) {
    job->last_progress = monotonic_ms();
    if (!job->cancelled) relay(job);
  }
}

void Files::fail(const FileJobPtr& job, const Error& error) {
  shop_.outbox.fail(job->to, error);
  end(job);
}

void Files::end(const FileJobPtr& job) {
  if (const auto found = jobs_.find(job->to.channel); found != jobs_.end() && found->second == job)
    jobs_.erase(found);
  job->cancelled = true;
  if (job->starting) return;  // on_started comes back here
  if (job->watch) {
    // Freed when the callback that led here is over.
    shop_.loop.defer([job] { job->watch.reset(); });
  }
  if (job->socket) {
    ::shutdown(job->socket.get(), SHUT_RDWR);
    shop_.loop.defer([job] { job->socket.reset(); });
  }
  if (job->pid != 0) leave(std::exchange(job->pid, 0));
}

void Files::leave(pid_t pid) {
  if (pid == 0) return;
  leaving_.emplace(pid, monotonic_ms());
  arm_tick();
}

void Files::cancel_all() {
  while (!jobs_.empty()) end(FileJobPtr(jobs_.begin()->second));
  queue_.clear();
  waiting_.dismiss_all();
}

// Operations that follow each other closely do not put it off.
void Files::arm_tick() {
  if (!tick_) tick_ = shop_.loop.after(kTickMs, [this] { tick(); });
}

void Files::tick() {
  tick_.reset();
  const std::int64_t now = monotonic_ms();
  std::vector<FileJobPtr> late;
  for (const auto& [channel, job] : jobs_) {
    const bool stopped = job->pid != 0 && is_stopped(job->pid);
    if (stopped && job->reused && !job->heard) {
      ::kill(job->pid, SIGKILL);  // its socket then shows whether it had read the request
    } else if (stopped) {
      late.push_back(job);
    } else if (!job->owes()) {
      job->last_progress = now;
    } else if (now - job->last_progress > job->deadline_ms) {
      late.push_back(job);
    }
  }
  for (const FileJobPtr& job : late) {
    const pid_t pid = job->pid;
    const bool stopped = is_stopped(pid);
    fail(job, stopped ? Error{Code::kUnavailable, "file_helper_died",
                              "the file helper was stopped from inside the sandbox: retry", 0}
                      : Error{Code::kDeadlineExceeded, "file_deadline",
                              "the file operation made no progress in time", 0});
    ::kill(pid, SIGKILL);
  }
  for (const auto& [pid, since] : leaving_) {
    if (now - since > kTidyMs || is_stopped(pid)) ::kill(pid, SIGKILL);
  }
  const bool busy =
      !leaving_.empty() || std::any_of(jobs_.begin(), jobs_.end(),
                                       [](const auto& entry) { return entry.second->pid != 0; });
  if (busy) arm_tick();
}

}  // namespace cay::keeper
