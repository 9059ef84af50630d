#include "runtime/keeper/command_reader.h"

#include <csignal>
#include <utility>

#include "base/clock.h"
#include "runtime/keeper/convert.h"
#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {
namespace {

// Credit is given back in steps of this much, not frame by frame.
constexpr std::uint64_t kGrantStep = LiveReader::kWindow / 4;

constexpr const char* kByStop =
    "sandbox stop";  // the keeper's word for every end that a shutdown made
constexpr const char* kByRemoval = "sandbox removal";

CommandEnd killed_by_removal() {
  CommandEnd out;
  out.state = CommandState::kKilled;
  out.signal = SIGKILL;
  out.by = kByRemoval;
  out.ended_at = system_clock().wall();
  return out;
}

}  // namespace

void OpenReaders::go_on_from(const KeptCommands& kept_commands) {
  for (LiveReader* reader : all_) {
    if (reader->kept_ || reader->rest_) continue;
    auto kept = kept_commands(reader->id_);
    if (!kept) continue;  // it ends with its keeper's connection
    reader->unended_ = (*kept)->is_open();
    reader->kept_ = *std::move(kept);
  }
}

asio::awaitable<bool> OpenReaders::done(Millis limit) {
  const auto deadline = deadline_in(limit);
  while (!all_.empty()) {
    const bool changed = co_await changed_.wait_until(deadline);
    if (!changed) break;
  }
  co_return all_.empty();
}

void OpenReaders::let_go() {
  for (LiveReader* reader : all_) {
    if (reader->kept_) reader->kept_->let_go();
    if (reader->rest_) reader->rest_->let_go();
  }
}

void OpenReaders::remove(LiveReader* reader) {
  if (all_.erase(reader) > 0) changed_.notify();
}

LiveReader::LiveReader(std::shared_ptr<PersistentLink> line, CommandId id, core::OutputOffsets from,
                       std::shared_ptr<OpenReaders> readers)
    : line_(std::move(line)), readers_(std::move(readers)), id_(std::move(id)), offsets_(from) {
  if (readers_) readers_->add(this);
}

LiveReader::~LiveReader() { leave(); }

void LiveReader::leave() {
  if (const auto readers = std::exchange(readers_, nullptr)) readers->remove(this);
}

void LiveReader::detach_with_next() {
  if (const auto channel = std::exchange(channel_, nullptr)) channel->cancel_with_next();
  ended_ = true;
  leave();
}

Task<void> LiveReader::open(Command known) {
  command_ = std::move(known);
  return attach();
}

void LiveReader::request(std::unique_ptr<Channel> channel) {
  const wire::Attach request{.command_id = id_.get(),
                             .out_offset = offsets_.out,
                             .err_offset = offsets_.err,
                             .credit = kWindow};
  channel->send(wire::Type::kAttach, request);
  channel->grant(kWindow, Channel::Announce::kNo);
  owed_ = 0;
  requested_ = std::move(channel);
}

Task<void> LiveReader::attach() {
  for (int tries = 1;; ++tries) {
    if (!requested_) {
      CAY_CO_TRY(const auto link, co_await line_->link(kLinkLimit));
      request(link->open());
    }
    auto channel = std::move(requested_);
    const Deadline deadline = after(kAnswerLimit);
    auto first = co_await channel->next(deadline);
    if (!first && link_lost(first.error()) && tries < kTries) continue;
    CAY_CO_TRY(const auto frame, std::move(first));
    if (!is(frame, wire::Type::kCommand)) co_return unexpected_frame(frame, "the command");
    if (command_.id.get().empty()) {
      CAY_CO_TRY(auto message,
                 decode_as<wire::CommandMsg>(frame, wire::Type::kCommand, "the command"));
      command_ = to_model(std::move(message));
    }
    channel_ = std::move(channel);
    co_return Result<void>{};
  }
}

Task<wire::Frame> LiveReader::next_frame() {
  while (true) {
    if (!channel_) {
      CAY_CO_CHECK(co_await attach());
    }
    // A quiet command has no deadline; the loss of its keeper, and the caller's cancellation, end
    // it.
    auto frame = co_await channel_->next(Deadline::max());
    if (frame) co_return std::move(frame);
    channel_.reset();
    if (!link_lost(frame.error())) co_return std::move(frame).error();
  }
}

Task<core::OutputEvent> LiveReader::next_kept() {
  if (!rest_) {
    const auto kept = std::move(kept_);
    CAY_CO_TRY(rest_, kept->read(offsets_));
  }
  CAY_CO_TRY(auto event, co_await rest_->next());
  if (auto* end = std::get_if<core::OutputEnd>(&event)) co_return ended(std::move(*end));
  co_return std::move(event);
}

core::OutputEvent LiveReader::ended(core::OutputEnd end) {
  ended_ = true;
  if (readers_ && readers_->removal()) {
    if (unended_) {
      end.command.end = killed_by_removal();
    } else if (end.command.end.state == CommandState::kKilled && end.command.end.by == kByStop) {
      end.command.end.by = kByRemoval;
    }
  }
  leave();
  return end;
}

Task<core::OutputEvent> LiveReader::next() {
  if (ended_)
    co_return Error{Code::kInternal, "reader_ended",
                    "this reader has already given the command's end", 0};
  if (rest_) {
    auto event = co_await next_kept();
    co_return event;
  }
  if (owed_ >= kGrantStep && channel_) {
    channel_->grant(owed_);
    owed_ = 0;
  }
  while (true) {
    auto frame = co_await next_frame();
    if (!frame && kept_) {
      auto event = co_await next_kept();
      co_return event;
    }
    if (!frame) co_return std::move(frame).error();
    CAY_CO_TRY(auto event, take(*frame));
    if (event) co_return std::move(*event);
  }
}

Result<std::optional<core::OutputEvent>> LiveReader::take(const wire::Frame& frame) {
  if (is(frame, wire::Type::kData)) return take_data(frame);
  if (is(frame, wire::Type::kGap)) return take_gap(frame);
  if (is(frame, wire::Type::kEnd)) {
    auto message = wire::decode<wire::CommandMsg>(frame.payload);
    if (!message) return breach("a malformed end");
    if (message->out.end_offset > offsets_.out || message->err.end_offset > offsets_.err) {
      return breach("a command's end before its output");
    }
    channel_->finish();
    channel_.reset();
    return std::optional<core::OutputEvent>(ended({.command = to_model(*std::move(message))}));
  }
  return std::optional<core::OutputEvent>();  // a later keeper's news: not for us
}

Result<std::optional<core::OutputEvent>> LiveReader::take_data(const wire::Frame& frame) {
  const auto data = wire::decode_data(frame.payload);
  if (!data || data->stream < 1 || data->stream > 2) return breach("data of no stream");
  std::uint64_t& expected = offset_of(data->stream);
  if (data->offset != expected) {
    return breach("output at offset " + std::to_string(data->offset) + " instead of " +
                  std::to_string(expected));
  }
  if (data->bytes.empty()) return std::optional<core::OutputEvent>();
  expected += data->bytes.size();
  owed_ += data->bytes.size();
  return std::optional<core::OutputEvent>(
      core::OutputData{.stream = static_cast<Stream>(data->stream),
                       .offset = data->offset,
                       .bytes = Bytes(data->bytes),
                       .after_end = data->after_end});
}

Result<std::optional<core::OutputEvent>> LiveReader::take_gap(const wire::Frame& frame) {
  const auto gap = wire::decode<wire::GapMsg>(frame.payload);
  if (!gap || gap->stream < 1 || gap->stream > 2) return breach("a gap of no stream");
  std::uint64_t& expected = offset_of(gap->stream);
  if (gap->offset != expected || gap->length > UINT64_MAX - expected) {
    return breach("a gap at offset " + std::to_string(gap->offset) + " instead of " +
                  std::to_string(expected));
  }
  expected += gap->length;
  return std::optional<core::OutputEvent>(core::OutputGap{
      .stream = static_cast<Stream>(gap->stream), .offset = gap->offset, .length = gap->length});
}

// Bytes that are not where they belong are never delivered.
Error LiveReader::breach(const std::string& what) {
  channel_->link().breach(what);
  Error error = channel_->link().why();
  channel_.reset();
  return error;
}

}  // namespace cay::runtime
