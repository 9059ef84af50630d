#include "runtime/keeper/channel.h"

namespace cay::runtime {

Channel::Channel(std::shared_ptr<Link> link, std::shared_ptr<Link::ChannelState> state)
    : link_(std::move(link)), state_(std::move(state)) {}

Channel::~Channel() {
  if (finished_ || state_->number == 0) return;
  if (link_->channels_.erase(state_->number) > 0 && !link_->parting_)
    link_->send(wire::Type::kCancel, state_->number, {});
}

void Channel::cancel_with_next() {
  if (!finished_ && link_->channels_.erase(state_->number) > 0 && !link_->parting_)
    link_->queue(wire::Type::kCancel, state_->number, {});
  finished_ = true;
}

void Channel::finish() {
  finished_ = true;
  link_->channels_.erase(state_->number);
}

void Channel::send(wire::Type type, std::string payload) {
  link_->send(type, state_->number, std::move(payload));
}

void Channel::send_with_next(wire::Type type, std::string payload) {
  link_->queue(type, state_->number, std::move(payload));
}

Task<void> Channel::room(Millis limit) {
  const Deadline deadline = after(limit);
  while (link_->alive_ && !link_->has_room()) {
    if (passed(deadline)) {
      co_return Error{
          Code::kUnavailable, "keeper_stalled",
          link_->peer_ + " has not read for " + std::to_string(limit.count()) + " ms; retry", 0};
    }
    co_await wait_until(link_->changed_, deadline);
  }
  if (!link_->alive_) co_return link_->why_;
  co_return Result<void>{};
}

void Channel::grant(std::uint64_t bytes, Announce announce) {
  state_->credit += bytes;
  if (announce == Announce::kNo || finished_) return;
  const wire::Credit credit{.bytes = bytes};
  send(wire::Type::kCredit, credit);
}

Result<std::optional<wire::Frame>> Channel::poll() {
  if (!state_->inbox.empty()) {
    wire::Frame frame = std::move(state_->inbox.front());
    state_->inbox.pop_front();
    if (!is(frame, wire::Type::kData))
      state_->uncredited -= frame.payload.size() + sizeof(wire::Frame);
    if (is(frame, wire::Type::kError)) {
      finish();
      auto error = wire::decode<wire::ErrorMsg>(frame.payload);
      if (!error) return unexpected_frame(frame, "an error");
      return to_error(*std::move(error));
    }
    return std::optional<wire::Frame>(std::move(frame));
  }
  if (state_->overflow) {
    finished_ = true;
    return Error{
        Code::kExhausted, "answer_too_fast",
        "the answer came faster than the caller read it: request less at once, or read it faster",
        0};
  }
  if (!link_->alive_) {
    finished_ = true;
    return link_->why_;
  }
  return std::optional<wire::Frame>();
}

Task<wire::Frame> Channel::next(Deadline deadline) {
  while (true) {
    auto come = poll();
    if (!come) co_return std::move(come).error();
    if (*come) co_return std::move(**come);
    if (passed(deadline)) {
      co_return Error{Code::kUnavailable, "no_answer",
                      link_->peer_ + " did not answer in time: the host may be overloaded; retry",
                      0};
    }
    co_await wait_until(state_->changed, deadline);
  }
}

asio::awaitable<void> Channel::changed() { co_await wait_until(state_->changed, Deadline::max()); }

void Channel::wake() { state_->changed.notify(); }

Error to_error(wire::ErrorMsg message) {
  const bool known = message.code >= static_cast<std::uint32_t>(Code::kInvalidArgument) &&
                     message.code <= static_cast<std::uint32_t>(Code::kInternal);
  return Error{known ? static_cast<Code>(message.code) : Code::kInternal, std::move(message.reason),
               std::move(message.message), static_cast<int>(message.os_errno)};
}

Error unexpected_frame(const wire::Frame& frame, std::string_view wanted) {
  return Error{Code::kInternal, "protocol_error",
               "expected " + std::string(wanted) + ", got frame type " +
                   std::to_string(frame.type) + " of " + std::to_string(frame.payload.size()) +
                   " bytes",
               0};
}

}  // namespace cay::runtime
