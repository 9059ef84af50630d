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

namespace cay::keeper {
namespace {

using wire::FileVerb;
using wire::Type;

constexpr std::int64_t kTickMs = 200;
constexpr std::int64_t kTidyMs = 1000;             // a helper's time to remove its temporary file
constexpr std::uint64_t kMostUpload = 512 * 1024;  // credit a helper may give: what we hold for it
constexpr std::uint64_t kMostCredit = std::uint64_t{1} << 40;
constexpr int kBulkBuffer =
    512 * 1024;  // bytes that a bulk socket holds, as far as the host allows

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

// The frames that a verb sends before content, and that take credit as content does; none: kOk.
Type entry_type(FileVerb verb) {
  if (verb == FileVerb::kReadTree) return Type::kFileInfo;
  if (verb == FileVerb::kWatch) return Type::kFileEvent;
  return verb == FileVerb::kReadLayer ? Type::kLayerEntry : Type::kOk;
}

// An entry goes out whole: with less credit than the largest takes, it is the daemon's turn.
std::uint64_t largest_entry(FileVerb verb) {
  if (verb == FileVerb::kReadTree) return 16 * 1024;
  return verb == FileVerb::kReadLayer ? std::uint64_t{wire::kDataChunk} : 0;
}

bool of_layer(FileVerb verb) {
  return verb == FileVerb::kWriteLayer || verb == FileVerb::kReadLayer;
}

// The daemon gets the helper's signs of long work, too.
bool may_take_long(FileVerb verb) { return verb >= FileVerb::kWriteLayer; }

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
  auto job = std::make_shared<Job>();
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
  job->deadline_ms = op.deadline_ms > 0 ? op.deadline_ms : shop_.context.file_deadline_ms;
  // A search ends by itself at its deadline and sends its results so far.
  if (verb == FileVerb::kGlob || verb == FileVerb::kGrep || verb == FileVerb::kReplace)
    job->deadline_ms += 5000;
  job->task = std::make_unique<wire::FileOp>(op);
  job->op = std::move(op);
  jobs_.emplace(to.channel, job);
  if (verb == FileVerb::kWatch) {
    ++watchers_;
    return launch(job);
  }
  if (helpers_ >= kMostHelpers) {
    queue_.push_back(job);
  } else {
    launch(job);
  }
}

void Files::launch(const JobPtr& job) {
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
  const auto verb = static_cast<FileVerb>(job->op.verb);
  const bool watches = verb == FileVerb::kWatch;
  program.user = of_layer(verb) ? "" : job->op.user;  // a layer has owners: root alone sets them
  if (verb == FileVerb::kWriteLayer) program.layer_root_fd = shop_.context.bare_root_fd;
  const bool needs_workdir = relative(job->op.path) || relative(job->op.to);
  program.cwd = needs_workdir && !job->op.workdir.empty() ? job->op.workdir : "/";
  program.task = &run_file_task;
  program.task_data = job->task.get();
  program.task_fd = ends[1];
  job->starting = true;
  job->oom_before = slot_->oom_kills();
  if (!watches) ++helpers_;
  shop_.spawner.start(std::move(program), *slot_,
                      [this, job](Result<Started> result) { on_started(job, std::move(result)); });
}

void Files::start_queued() {
  while (!queue_.empty() && helpers_ < kMostHelpers) {
    const JobPtr job = queue_.front();
    queue_.pop_front();
    if (!job->cancelled) launch(job);
  }
}

void Files::on_started(const JobPtr& job, Result<Started> result) {
  job->starting = false;
  job->helper_end.reset();
  std::size_t& count =
      static_cast<FileVerb>(job->op.verb) == FileVerb::kWatch ? watchers_ : helpers_;
  if (!result) {
    --count;
    if (!job->cancelled) fail(job, result.error());
    return start_queued();
  }
  const auto gone = [this, &count, pid = result->pid](const Exit&) {
    leaving_.erase(pid);
    --count;
    start_queued();
  };
  job->pid = result->pid;
  job->last_progress = monotonic_ms();
  if (result->exit) {
    gone(*result->exit);
    job->pid = 0;
  } else {
    shop_.reaper.expect(result->pid, gone);
  }
  if (job->cancelled) return end(job);
  job->watch = shop_.loop.watch(job->socket.get(), EPOLLIN,
                                [this, job](std::uint32_t ready) { on_events(job, ready); });
  flush(job);
  arm_tick();
}

void Files::on_frame(std::uint32_t channel, Type type, std::string_view payload) {
  const JobPtr job = jobs_.at(channel);
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
    if (job->bulk || static_cast<FileVerb>(job->op.verb) != FileVerb::kWrite) return overrun();
    if (!open_bulk(job)) return;
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
  wire::Frame frame;
  frame.type = static_cast<std::uint16_t>(type);
  frame.payload = payload;
  job->out.append(wire::encode_frame(frame));
  job->last_progress = monotonic_ms();
  if (!job->watch || std::exchange(job->flush_due, true)) return;
  // Once for all frames that came together: the entries of a layer are many and small.
  shop_.loop.defer([this, job] {
    job->flush_due = false;
    if (job->watch) flush(job);
  });
}

bool Files::open_bulk(const JobPtr& job) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail(job, Error::from_errno(errno, "make a socket for file work", "start_failed"));
    return false;
  }
  UniqueFd daemons(ends[0]);
  UniqueFd helpers(ends[1]);
  for (const int end : ends)
    ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kBulkBuffer, sizeof kBulkBuffer);
  job->bulk = true;
  job->out.attach(std::move(helpers));  // with the frame that follows
  shop_.outbox.send_with(std::move(daemons), job->to, Type::kBulk);
  return true;
}

void Files::flush(const JobPtr& job) {
  const std::size_t before = job->out.size();
  // A helper that is gone is reported by the reading side.
  static_cast<void>(job->out.flush(job->socket.get()));
  if (job->out.size() < before) job->last_progress = monotonic_ms();
  want(job);
}

void Files::want(const JobPtr& job) {
  std::uint32_t events = 0;
  if (!job->blocked && !job->helper_eof) events |= EPOLLIN;
  if (!job->out.empty() && !job->helper_eof) events |= EPOLLOUT;
  job->watch.want(events);
}

void Files::on_events(const JobPtr& job, std::uint32_t ready) {
  if ((ready & EPOLLOUT) != 0) flush(job);
  if ((ready & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || job->blocked || job->helper_eof) {
    // A helper that hung up while we do not read: level-triggered news we cannot use now.
    if (job->blocked && (ready & (EPOLLHUP | EPOLLERR)) != 0) job->watch.reset();
    return;
  }
  static std::array<char, 128 * 1024> buffer;
  const ssize_t got = ::recv(job->socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    job->helper_eof = true;
  } else {
    job->last_progress = monotonic_ms();
    job->reader.feed(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  }
  relay(job);
}

void Files::relay(const JobPtr& job) {
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
      return want(job);
    }
    if (!forward(job, *frame)) return;
  }
  job->blocked = true;
  want(job);
}

bool Files::forward(const JobPtr& job, const wire::Frame& frame) {
  const auto type = static_cast<Type>(frame.type);
  const auto verb = static_cast<FileVerb>(job->op.verb);
  bool fine = false;
  bool last = false;
  switch (type) {
    case Type::kFileInfo: fine = wire::decode<wire::FileInfoMsg>(frame.payload).has_value(); break;
    case Type::kLayerEntry:
      fine = verb == FileVerb::kReadLayer &&
             wire::decode<wire::LayerEntryMsg>(frame.payload).has_value();
      break;
    case Type::kGrepMatch:
      fine = wire::decode<wire::GrepMatchMsg>(frame.payload).has_value();
      break;
    case Type::kFileDone: fine = wire::decode<wire::FileDoneMsg>(frame.payload).has_value(); break;
    case Type::kReplaced: fine = wire::decode<wire::ReplacedMsg>(frame.payload).has_value(); break;
    case Type::kFileEvent:
      fine = verb == FileVerb::kWatch && job->confirmed &&
             wire::decode<wire::FileEventMsg>(frame.payload).has_value();
      break;
    case Type::kOk:
      fine = last = frame.payload.empty();
      if (verb != FileVerb::kWatch) break;
      last = false;  // events follow
      fine = fine && !std::exchange(job->confirmed, true);
      break;
    case Type::kEof: fine = last = wire::decode<wire::Eof>(frame.payload).has_value(); break;
    case Type::kError: {
      const auto error = wire::decode<wire::ErrorMsg>(frame.payload);
      fine = last =
          error && error->code >= 1 && error->code <= static_cast<std::uint32_t>(Code::kInternal);
      break;
    }
    case Type::kData: {
      const auto data = wire::decode_data(frame.payload);
      fine = data && !job->uploads && !job->bulk && data->bytes.size() <= wire::kDataChunk &&
             data->bytes.size() <= job->credit;
      if (fine) job->credit -= data->bytes.size();
      break;
    }
    case Type::kBulk:
      if (verb != FileVerb::kRead || job->op.bulk_from == 0 || job->bulk) break;
      if (!open_bulk(job)) return false;
      job->out.append(wire::encode_frame(frame));
      flush(job);
      return true;
    case Type::kCredit: {
      const auto credit = wire::decode<wire::Credit>(frame.payload);
      if (credit && credit->bytes == 0) {  // "still at work"
        if (may_take_long(verb)) shop_.outbox.send(job->to, type, frame.payload);
        return true;
      }
      fine = credit && job->uploads &&
             credit->bytes <= kMostUpload - std::min(kMostUpload, job->upload_credit);
      if (fine) job->upload_credit += credit->bytes;
      break;
    }
    default: break;
  }
  if (fine && type == entry_type(verb)) {
    fine = frame.payload.size() <= job->credit;
    if (fine) job->credit -= frame.payload.size();
  }
  if (!fine) {
    fail(job,
         Error{Code::kUnavailable, "file_helper_died", "the file helper spoke nonsense: retry", 0});
    return false;
  }
  shop_.outbox.send(job->to, type, frame.payload);
  if (last) end(job);
  return !last;
}

void Files::pump() {
  std::vector<JobPtr> blocked;
  for (const auto& [channel, job] : jobs_) {
    if (job->blocked) blocked.push_back(job);
  }
  for (const JobPtr& job : blocked) {
    job->last_progress = monotonic_ms();
    if (!job->cancelled) relay(job);
  }
}

void Files::fail(const JobPtr& job, const Error& error) {
  shop_.outbox.fail(job->to, error);
  end(job);
}

void Files::end(const JobPtr& job) {
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
  if (job->pid != 0) {
    leaving_.emplace(std::exchange(job->pid, 0), monotonic_ms());
    arm_tick();
  }
}

void Files::cancel_all() {
  while (!jobs_.empty()) end(JobPtr(jobs_.begin()->second));
  queue_.clear();
}

// Whether the helper is the one to act: not the daemon, and not our own connection.
bool Files::owes(const Job& job) {
  if (job.starting || job.pid == 0 || job.blocked) return false;
  if (!job.out.empty()) return true;
  // The daemon sees what goes over the socket, and ends an operation that does not get on.
  if (job.bulk) return job.daemon_done;
  if (job.uploads) return job.daemon_done || job.upload_credit < kMostUpload / 2;
  const auto verb = static_cast<FileVerb>(job.op.verb);
  if (verb == FileVerb::kWatch && job.confirmed) return false;  // nothing may happen for days
  const bool streams = verb == FileVerb::kRead || entry_type(verb) != Type::kOk;
  return !streams || job.credit > largest_entry(verb);
}

void Files::arm_tick() {
  tick_ = shop_.loop.after(kTickMs, [this] { tick(); });
}

void Files::tick() {
  const std::int64_t now = monotonic_ms();
  std::vector<JobPtr> late;
  for (const auto& [channel, job] : jobs_) {
    if (job->pid != 0 && is_stopped(job->pid)) {
      late.push_back(job);
    } else if (!owes(*job)) {
      job->last_progress = now;
    } else if (now - job->last_progress > job->deadline_ms) {
      late.push_back(job);
    }
  }
  for (const JobPtr& job : late) {
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
