#include "runtime/keeper/keeper_commands.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "runtime/keeper/command_reader.h"
#include "runtime/keeper/convert.h"
#include "runtime/keeper/file_calls.h"
#include "runtime/keeper/keeper_calls.h"
#include "wire/keeper_features.h"

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

// `tries`: which request was answered. The first one was sent at `asked_at`.
Result<Command> started_command(const wire::Frame& answer, int tries, UnixMillis asked_at) {
  CAY_TRY(auto message, decode_as<wire::CommandMsg>(answer, wire::Type::kCommand, "the command"));
  Command command = to_model(std::move(message));
  // A command that the repeat found may be the one that the first request started.
  if (tries > 1 && command.known && command.started_at >= asked_at) command.known = false;
  return command;
}

}  // namespace

wire::StartCommand KeeperCommands::request_of(const CommandSpec& spec) const {
  wire::StartCommand request = to_wire(spec);
  request.disk_reserve = disk_reserve_;
  return request;
}

Task<Command> KeeperCommands::start(CommandSpec spec) {
  const UnixMillis asked_at = system_clock().wall();
  wire::StartCommand request = request_of(spec);
  for (int tries = 1;; ++tries) {
    request.not_after_ms = monotonic_in(kStartLimit);
    auto payload = wire::encode(request);
    auto frame = co_await call(line_, wire::Type::kStart, std::move(payload), Repeat::kUnsafe);
    if (!frame && link_lost(frame.error()) && tries < kTries)
      continue;  // get-or-create: it never runs twice
    CAY_CO_TRY(const auto answer, std::move(frame));
    CAY_CO_TRY(auto command, started_command(answer, tries, asked_at));
    co_return std::move(command);
  }
}

Task<core::LiveCommands::Followed> KeeperCommands::start_attached(CommandSpec spec) {
  const UnixMillis asked_at = system_clock().wall();
  const CommandId id = spec.id;
  wire::StartCommand request = request_of(spec);
  for (int tries = 1;; ++tries) {
    CAY_CO_TRY(const auto link, co_await line_->link(kLinkLimit));
    if (!line_->theirs().has(wire::keeper_feature::kAttachBehindStart)) {
      auto followed = co_await LiveCommands::start_attached(std::move(spec));
      co_return std::move(followed);
    }
    request.not_after_ms = monotonic_in(kStartLimit);
    auto payload = wire::encode(request);
    CAY_CO_CHECK(check_fits(wire::Type::kStart, payload));
    auto starting = link->open();
    starting->send_with_next(wire::Type::kStart, std::move(payload));
    auto reader = std::make_unique<LiveReader>(line_, id, core::OutputOffsets{}, readers_);
    reader->request(link->open());  // the channel after that of the start
    const Deadline deadline = after(kAnswerLimit);
    auto frame = co_await starting->next(deadline);
    if (!frame && link_lost(frame.error()) && tries < kTries)
      continue;  // get-or-create: it never runs twice
    CAY_CO_TRY(const auto answer, std::move(frame));
    starting->finish();
    CAY_CO_TRY(auto command, started_command(answer, tries, asked_at));
    const auto opened = co_await reader->open(command);
    Followed out;
    out.command = std::move(command);
    if (opened) {
      out.reader = std::unique_ptr<core::CommandReader>(std::move(reader));
    } else {
      out.reader = opened.error();
    }
    co_return std::move(out);
  }
}

Task<std::unique_ptr<core::CommandReader>> KeeperCommands::attach(CommandId id,
                                                                  core::OutputOffsets from) {
  auto reader = std::make_unique<LiveReader>(line_, std::move(id), from, readers_);
  CAY_CO_CHECK(co_await reader->open());
  co_return std::unique_ptr<core::CommandReader>(std::move(reader));
}

Task<void> KeeperCommands::write_stdin(CommandId id, Bytes data, bool more) {
  for (std::size_t at = 0; at == 0 || at < data.size(); at += wire::kDataChunk) {
    const wire::Stdin chunk{.command_id = id.get(),
                            .data = data.substr(at, wire::kDataChunk),
                            .more = more || at + wire::kDataChunk < data.size()};
    auto payload = wire::encode(chunk);
    // A repeat might write twice, so the caller learns of a lost link.
    CAY_CO_CHECK(co_await call_ok(line_, wire::Type::kStdin, std::move(payload), Repeat::kUnsafe,
                                  kStdinLimit));
  }
  co_return Result<void>{};
}

Task<core::LiveCommands::Written> KeeperCommands::write_attached(CommandId id, Bytes data,
                                                                 core::OutputOffsets from) {
  if (data.size() > wire::kDataChunk) {
    auto in_turn = co_await LiveCommands::write_attached(std::move(id), std::move(data), from);
    co_return in_turn;
  }
  CAY_CO_TRY(const auto link, co_await line_->link(kLinkLimit));
  auto writing = link->open();
  writing->send_with_next(
      wire::Type::kStdin,
      wire::encode(wire::Stdin{.command_id = id.get(), .data = std::move(data), .more = false}));
  auto reader = std::make_unique<LiveReader>(line_, std::move(id), from, readers_);
  reader->request(link->open());
  CAY_CO_CHECK(co_await reader->open());
  Written out;
  const Deadline deadline = after(kStdinLimit);
  auto answer = co_await writing->next(deadline);
  if (!answer) {
    out.written = std::move(answer).error();
  } else {
    writing->finish();
    if (!is(*answer, wire::Type::kOk)) out.written = unexpected_frame(*answer, "ok");
  }
  out.reader = std::move(reader);
  co_return std::move(out);
}

Task<void> KeeperCommands::close_stdin(CommandId id) {
  auto payload = command_ref(id);
  auto done = co_await call_ok(line_, wire::Type::kCloseStdin, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<void> KeeperCommands::kill(CommandId id, int signal, std::string by) {
  const wire::Kill message{.command_id = id.get(), .signal = signal, .by = std::move(by)};
  auto payload = wire::encode(message);
  // SIGKILL twice is once; a signal that a program counts is not.
  const Repeat repeat = signal == 0 ? Repeat::kSafe : Repeat::kUnsafe;
  auto done = co_await call_ok(line_, wire::Type::kKill, std::move(payload), repeat);
  co_return done;
}

Task<void> KeeperCommands::resize(CommandId id, PtySize size) {
  const wire::Resize message{.command_id = id.get(), .rows = size.rows, .cols = size.cols};
  auto payload = wire::encode(message);
  auto done = co_await call_ok(line_, wire::Type::kResize, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<Command> KeeperCommands::command(CommandId id) {
  auto payload = command_ref(id);
  CAY_CO_TRY(const auto frame,
             co_await call(line_, wire::Type::kGetCommand, std::move(payload), Repeat::kSafe));
  CAY_CO_TRY(auto message, decode_as<wire::CommandMsg>(frame, wire::Type::kCommand, "the command"));
  co_return to_model(std::move(message));
}

Task<std::vector<Command>> KeeperCommands::commands() {
  auto payload = std::string();
  CAY_CO_TRY(auto channel, co_await ask(line_, wire::Type::kListCommands, std::move(payload)));
  std::vector<Command> all;
  std::size_t bytes = 0;
  while (true) {
    const Deadline deadline = after(kAnswerLimit);
    CAY_CO_TRY(const auto frame, co_await channel->next(deadline));
    if (is(frame, wire::Type::kEof)) break;
    CAY_CO_TRY(auto message, decode_as<wire::CommandMsg>(frame, wire::Type::kCommand, "a command"));
    if (!is_plausible(message)) co_return unexpected_frame(frame, "a command");
    bytes += frame.payload.size();
    if (all.size() >= kMaxEntries || bytes > kMaxCommandBytes) {
      co_return Error{Code::kExhausted, "listing_too_large",
                      "too many commands are kept: forget finished ones", 0};
    }
    all.push_back(to_model(std::move(message)));
  }
  channel->finish();
  co_return std::move(all);
}

Task<void> KeeperCommands::forget(CommandId id) {
  auto payload = command_ref(id);
  auto done = co_await call_ok(line_, wire::Type::kForget, std::move(payload), Repeat::kUnsafe);
  co_return done;
}

void KeeperCommands::on_commands(CommandHandlers handlers) {
  line_->on_event([told = std::move(handlers)](const wire::Frame& frame) {
    if (is(frame, wire::Type::kEnded)) {
      auto message = wire::decode<wire::CommandMsg>(frame.payload);
      if (message && is_plausible(*message)) told.ended(to_model(*std::move(message)));
    } else if (is(frame, wire::Type::kNote)) {
      auto message = wire::decode<wire::NoteMsg>(frame.payload);
      if (message && is_plausible(message->command))
        told.note({.life = message->life, .number = message->number},
                  to_model(std::move(message->command)));
    }
  });
}

Task<void> KeeperCommands::noted(NoteMark through) {
  auto payload = wire::encode(wire::Noted{.life = through.life, .through = through.number});
  auto done = co_await call_ok(line_, wire::Type::kNoted, std::move(payload), Repeat::kSafe);
  co_return done;
}

}  // namespace cay::runtime
