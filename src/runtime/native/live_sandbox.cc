#include "runtime/native/live_sandbox.h"

#include <algorithm>
#include <chrono>

#include "runtime/native/command_reader.h"
#include "runtime/native/convert.h"
#include "runtime/native/file_calls.h"
#include "runtime/native/keeper_calls.h"
#include "runtime/native/live_tunnel.h"

namespace cay::runtime {
namespace {

std::string command_ref(const CommandId& id) {
  return wire::encode(wire::CommandRef{.command_id = id.get()});
}

constexpr std::size_t kMaxCommandBytes = 64 << 20;  // of one list, as of files

// The keeper answers stdin when the command has taken what was before it: as long as that takes.
// Callers bound it by their own deadline.
constexpr Millis kStdinLimit{24 * 3600 * 1000};

// The keeper begins a start within this time or not at all. With the time that one start may take
// it is less than kAnswerLimit: what was answered with "no answer" does not run afterwards.
constexpr Millis kStartLimit{10'000};

std::int64_t monotonic_in(Millis span) {
  const auto then = std::chrono::steady_clock::now().time_since_epoch() + span;
  return std::chrono::duration_cast<Millis>(then).count();
}

}  // namespace

NativeLiveSandbox::~NativeLiveSandbox() {
  const Error why{Code::kLost, "keeper_lost", "the sandbox was stopped, or this daemon is ending",
                  0};
  tunnels_->close(why);
  line_->close(why);
}

Task<Command> NativeLiveSandbox::start(CommandSpec spec) {
  const UnixMillis asked_at = system_clock().wall();
  wire::StartCommand request = to_wire(spec);
  request.disk_reserve = disk_reserve_;
  for (int tries = 1;; ++tries) {
    request.not_after_ms = monotonic_in(kStartLimit);
    auto payload = wire::encode(request);
    auto frame = co_await call(line_, wire::Type::kStart, std::move(payload), Repeat::kUnsafe);
    if (!frame && link_lost(frame.error()) && tries < kTries)
      continue;  // get-or-create: it never runs twice
    CAY_CO_TRY(const auto answer, std::move(frame));
    CAY_CO_TRY(const auto message,
               decode_as<wire::CommandMsg>(answer, wire::Type::kCommand, "the command"));
    Command command = to_model(message);
    // Found by our own second asking, it may well be what the first one started.
    if (tries > 1 && command.known && command.started_at >= asked_at) command.known = false;
    co_return std::move(command);
  }
}

Task<std::unique_ptr<core::CommandReader>> NativeLiveSandbox::attach(CommandId id,
                                                                     core::OutputOffsets from) {
  auto reader = std::make_unique<LiveReader>(line_, std::move(id), from, readers_);
  CAY_CO_CHECK(co_await reader->open());
  co_return std::unique_ptr<core::CommandReader>(std::move(reader));
}

Task<void> NativeLiveSandbox::write_stdin(CommandId id, Bytes data, bool more) {
  for (std::size_t at = 0; at == 0 || at < data.size(); at += wire::kDataChunk) {
    const wire::Stdin chunk{.command_id = id.get(),
                            .data = data.substr(at, wire::kDataChunk),
                            .more = more || at + wire::kDataChunk < data.size()};
    auto payload = wire::encode(chunk);
    // Asked twice it might be written twice: a lost link is the caller's to know.
    CAY_CO_CHECK(co_await call_ok(line_, wire::Type::kStdin, std::move(payload), Repeat::kUnsafe,
                                  kStdinLimit));
  }
  co_return Result<void>{};
}

Task<void> NativeLiveSandbox::close_stdin(CommandId id) {
  auto payload = command_ref(id);
  auto done = co_await call_ok(line_, wire::Type::kCloseStdin, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<void> NativeLiveSandbox::kill(CommandId id, int signal, std::string by) {
  const wire::Kill message{.command_id = id.get(), .signal = signal, .by = std::move(by)};
  auto payload = wire::encode(message);
  // SIGKILL twice is once; a signal that a program counts is not.
  const Repeat repeat = signal == 0 ? Repeat::kSafe : Repeat::kUnsafe;
  auto done = co_await call_ok(line_, wire::Type::kKill, std::move(payload), repeat);
  co_return done;
}

Task<void> NativeLiveSandbox::resize(CommandId id, PtySize size) {
  const wire::Resize message{.command_id = id.get(), .rows = size.rows, .cols = size.cols};
  auto payload = wire::encode(message);
  auto done = co_await call_ok(line_, wire::Type::kResize, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<Command> NativeLiveSandbox::command(CommandId id) {
  auto payload = command_ref(id);
  CAY_CO_TRY(const auto frame,
             co_await call(line_, wire::Type::kGetCommand, std::move(payload), Repeat::kSafe));
  CAY_CO_TRY(const auto message,
             decode_as<wire::CommandMsg>(frame, wire::Type::kCommand, "the command"));
  co_return to_model(message);
}

Task<std::vector<Command>> NativeLiveSandbox::commands() {
  auto payload = std::string();
  CAY_CO_TRY(auto channel, co_await ask(line_, wire::Type::kListCommands, std::move(payload)));
  std::vector<Command> all;
  std::size_t bytes = 0;
  while (true) {
    const Deadline deadline = after(kAnswerLimit);
    CAY_CO_TRY(const auto frame, co_await channel->next(deadline));
    if (is(frame, wire::Type::kEof)) break;
    CAY_CO_TRY(const auto message,
               decode_as<wire::CommandMsg>(frame, wire::Type::kCommand, "a command"));
    if (!is_plausible(message)) co_return unexpected_frame(frame, "a command");
    bytes += frame.payload.size();
    if (all.size() >= kMaxEntries || bytes > kMaxCommandBytes) {
      co_return Error{Code::kExhausted, "listing_too_large",
                      "too many commands are kept: forget finished ones", 0};
    }
    all.push_back(to_model(message));
  }
  channel->finish();
  co_return std::move(all);
}

Task<void> NativeLiveSandbox::forget(CommandId id) {
  auto payload = command_ref(id);
  auto done = co_await call_ok(line_, wire::Type::kForget, std::move(payload), Repeat::kUnsafe);
  co_return done;
}

void NativeLiveSandbox::on_commands(CommandHandlers handlers) {
  line_->on_event([told = std::move(handlers)](const wire::Frame& frame) {
    if (is(frame, wire::Type::kEnded)) {
      const auto message = wire::decode<wire::CommandMsg>(frame.payload);
      if (message && is_plausible(*message)) told.ended(to_model(*message));
    } else if (is(frame, wire::Type::kNote)) {
      const auto message = wire::decode<wire::NoteMsg>(frame.payload);
      if (message && is_plausible(message->command))
        told.note({.life = message->life, .number = message->number}, to_model(message->command));
    }
  });
}

Task<void> NativeLiveSandbox::noted(NoteMark through) {
  auto payload = wire::encode(wire::Noted{.life = through.life, .through = through.number});
  auto done = co_await call_ok(line_, wire::Type::kNoted, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<FileInfo> NativeLiveSandbox::stat(std::string path, FileAs as, bool follow) {
  auto op = file_op(wire::FileVerb::kStat, path, as);
  op.follow = follow;
  auto info = co_await file_stat(line_, std::move(op));
  co_return info;
}

Task<core::FileStream> NativeLiveSandbox::read(std::string path, FileAs as, core::ReadRange range) {
  auto op = file_op(wire::FileVerb::kRead, path, as);
  op.offset = range.offset;
  op.length = range.length;
  auto stream = co_await file_read(line_, std::move(op));
  co_return std::move(stream);
}

Task<FileInfo> NativeLiveSandbox::write(std::string path, core::WriteOptions options,
                                        std::unique_ptr<ByteSource> data) {
  auto op = file_op(wire::FileVerb::kWrite, path, options.as);
  op.mode = options.mode;
  op.parents = options.create_parents;
  op.keep_mode = options.keep_mode;
  auto info = co_await file_write(line_, std::move(op), std::move(data));
  co_return info;
}

Task<std::vector<FileInfo>> NativeLiveSandbox::list(std::string path, FileAs as) {
  auto op = file_op(wire::FileVerb::kList, path, as);
  CAY_CO_TRY(auto entries, co_await file_entries(line_, std::move(op)));
  if (entries.truncated) {
    co_return Error{Code::kExhausted, "listing_too_large",
                    "the directory could not be listed whole: " + path, 0};
  }
  co_return std::move(entries.matches);
}

Task<void> NativeLiveSandbox::make_directory(std::string path, FileAs as, std::uint32_t mode) {
  auto op = file_op(wire::FileVerb::kMkdir, path, as);
  op.mode = mode;
  op.parents = true;
  auto done = co_await file_change(line_, std::move(op), true);
  co_return done;
}

Task<void> NativeLiveSandbox::remove(std::string path, FileAs as, bool recursive) {
  auto op = file_op(wire::FileVerb::kRemove, path, as);
  op.recursive = recursive;
  auto done = co_await file_change(line_, std::move(op), false);
  co_return done;
}

Task<void> NativeLiveSandbox::rename(std::string from, std::string to, FileAs as) {
  auto op = file_op(wire::FileVerb::kRename, from, as);
  op.to = std::move(to);
  auto done = co_await file_change(line_, std::move(op), false);
  co_return done;
}

Task<GlobResult> NativeLiveSandbox::glob(std::string root, std::string pattern, FileAs as,
                                         std::uint32_t limit) {
  auto op = file_op(wire::FileVerb::kGlob, root, as);
  op.pattern = std::move(pattern);
  op.limit = limit;
  auto result = co_await file_entries(line_, std::move(op));
  co_return std::move(result);
}

Task<GrepResult> NativeLiveSandbox::grep(std::string root, std::string text, std::string file_glob,
                                         FileAs as, std::uint32_t limit) {
  auto op = file_op(wire::FileVerb::kGrep, root, as);
  op.pattern = std::move(text);
  op.file_glob = std::move(file_glob);
  op.limit = limit;
  auto result = co_await file_grep(line_, std::move(op));
  co_return std::move(result);
}

Task<std::unique_ptr<core::TreeSource>> NativeLiveSandbox::read_tree(std::string path, FileAs as) {
  auto op = file_op(wire::FileVerb::kReadTree, path, as);
  auto tree = co_await tree_read(line_, std::move(op));
  co_return std::move(tree);
}

Task<void> NativeLiveSandbox::write_tree(std::string path, FileAs as,
                                         std::unique_ptr<core::TreeSource> tree) {
  auto op = file_op(wire::FileVerb::kWriteTree, path, as);
  auto done = co_await tree_write(line_, std::move(op), std::move(tree));
  co_return done;
}

Task<core::SandboxStats> NativeLiveSandbox::stats() {
  auto payload = std::string();
  CAY_CO_TRY(const auto frame,
             co_await call(line_, wire::Type::kStats, std::move(payload), Repeat::kSafe));
  CAY_CO_TRY(const auto message,
             decode_as<wire::StatsMsg>(frame, wire::Type::kStatsReply, "stats"));
  co_return to_model(message);
}

Task<void> NativeLiveSandbox::pause() {
  auto payload = std::string();
  auto done = co_await call_ok(line_, wire::Type::kPause, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<void> NativeLiveSandbox::resume() {
  auto payload = std::string();
  auto done = co_await call_ok(line_, wire::Type::kResume, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<std::unique_ptr<core::Tunnel>> NativeLiveSandbox::open_tunnel(std::uint16_t port) {
  CAY_CO_CHECK(co_await line_->link(kAnswerLimit));
  // Over TCP, and of an older keeper, there are no sockets to be had: it carries the bytes.
  auto opening =
      line_->theirs().passes_sockets ? tunnels_->open(port) : LiveTunnel::open(line_, port);
  auto tunnel = co_await std::move(opening);
  co_return std::move(tunnel);
}

std::shared_ptr<PersistentLink> keeper_line(asio::any_io_executor loop, Dialer dial,
                                            wire::Hello hello, std::string sandbox_id,
                                            std::string instance) {
  PersistentLink::Config config;
  config.peer = "the sandbox's keeper";
  config.dial = std::move(dial);
  config.hello = std::move(hello);
  config.mortal = true;
  config.unreachable =
      Error{Code::kUnavailable, "keeper_unreachable",
            "the sandbox's keeper does not answer: the host may be overloaded; retry, or stop and "
            "start the sandbox",
            0};
  config.check = [id = std::move(sandbox_id),
                  instance = std::move(instance)](const wire::Hello& theirs) -> Result<void> {
    const bool ours = theirs.role == "keeper" && (id.empty() || theirs.sandbox_id == id) &&
                      (instance.empty() || theirs.instance == instance);
    if (ours) return {};
    return Error{Code::kConflict, "wrong_keeper",
                 "the keeper's socket is held by " + theirs.role + " of sandbox " +
                     theirs.sandbox_id + ", instance " + theirs.instance,
                 0};
  };
  return PersistentLink::create(std::move(loop), std::move(config));
}

Task<void> polite_shutdown(std::shared_ptr<PersistentLink> line, Millis limit) {
  CAY_CO_TRY(auto link, co_await line->link(limit));
  auto channel = link->open();
  channel->send(wire::Type::kShutdown, std::string());
  const Deadline deadline = after(limit);
  auto answer = co_await channel->next(deadline);
  channel->finish();
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>{};
}

}  // namespace cay::runtime
