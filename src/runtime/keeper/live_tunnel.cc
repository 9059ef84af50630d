#include "runtime/keeper/live_tunnel.h"

#include <algorithm>
#include <utility>

#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {
namespace {

constexpr std::uint64_t kGrantStep = LiveTunnel::kWindow / 4;
constexpr Millis kConnectLimit{8'000};

}  // namespace

Task<std::unique_ptr<core::Tunnel>> LiveTunnel::open(std::shared_ptr<PersistentLink> line,
                                                     std::uint16_t port) {
  const wire::OpenTunnel request{
      .port = port, .credit = kWindow, .timeout_ms = kConnectLimit.count()};
  auto payload = wire::encode(request);
  CAY_CO_TRY(auto channel,
             co_await ask(std::move(line), wire::Type::kOpenTunnel, std::move(payload)));
  channel->grant(kWindow, Channel::Announce::kNo);
  const Deadline deadline = after(kAnswerLimit);
  auto first = co_await channel->next(deadline);
  if (!first && first.error().reason == "unknown_request") {
    co_return Error{
        Code::kUnsupported, "old_keeper",
        "this sandbox was started by a release of Cay without tunnels: stop and start it", 0};
  }
  CAY_CO_TRY(const auto frame, std::move(first));
  CAY_CO_TRY(const auto opened,
             decode_as<wire::TunnelOpen>(frame, wire::Type::kTunnelOpen, "the tunnel"));
  co_return std::unique_ptr<core::Tunnel>(new LiveTunnel(std::move(channel), opened.credit));
}

LiveTunnel::~LiveTunnel() {
  if (shut_ && ended_ && !broken_ && inbox_.empty()) channel_->finish();
}

Error LiveTunnel::breach(const std::string& what) {
  channel_->link().breach(what);
  return channel_->link().why();
}

Result<void> LiveTunnel::sort(wire::Frame frame) {
  if (is(frame, wire::Type::kData)) {
    const auto data = wire::decode_data(frame.payload);
    if (!data || data->offset != offset_ || ended_)
      return breach("bytes of a tunnel that do not belong there");
    offset_ += data->bytes.size();
    if (!data->bytes.empty()) inbox_.emplace_back(data->bytes);
  } else if (is(frame, wire::Type::kCredit)) {
    CAY_TRY(const auto credit, decode_as<wire::Credit>(frame, wire::Type::kCredit, "credit"));
    allowed_ += std::min(credit.bytes, UINT64_MAX - allowed_);
  } else if (is(frame, wire::Type::kEof)) {
    ended_ = true;
  } else if (is(frame, wire::Type::kOk)) {
    channel_->finish();
  }
  return {};  // others: a later keeper's news, not for us
}

Result<void> LiveTunnel::sort() {
  while (!broken_) {
    auto come = channel_->poll();
    if (come && !*come) return {};
    auto sorted = come ? sort(std::move(**come)) : Result<void>(std::move(come).error());
    if (!sorted) broken_ = std::move(sorted).error();
  }
  return *broken_;
}

Task<Bytes> LiveTunnel::read() {
  if (owed_ >= kGrantStep && !broken_) channel_->grant(std::exchange(owed_, 0));
  while (true) {
    auto sorted = sort();
    if (broken_off_) co_return *broken_;
    if (!inbox_.empty()) {  // what came before a reset is the program's word
      Bytes bytes = std::move(inbox_.front());
      inbox_.pop_front();
      owed_ += bytes.size();
      co_return std::move(bytes);
    }
    if (ended_) co_return Bytes();
    if (!sorted) co_return std::move(sorted).error();
    co_await channel_->changed();
  }
}

Task<void> LiveTunnel::write(Bytes bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    CAY_CO_CHECK(sort());
    if (shut_)
      co_return Error{Code::kInvalidArgument, "tunnel_shut",
                      "this side of the tunnel was ended already", 0};
    if (allowed_ == 0) {
      co_await channel_->changed();
      continue;
    }
    CAY_CO_CHECK(co_await channel_->room(kFileLimit));
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(allowed_, wire::kDataChunk));
    const std::size_t size = std::min(bytes.size() - done, most);
    const wire::Data data{.stream = 0,
                          .after_end = false,
                          .offset = sent_,
                          .bytes = std::string_view(bytes).substr(done, size)};
    channel_->send(wire::Type::kData, wire::encode_data(data));
    done += size;
    sent_ += size;
    allowed_ -= size;
  }
  co_return Result<void>();
}

void LiveTunnel::break_off(Error why) {
  broken_ = std::move(why);
  broken_off_ = true;
  channel_->wake();
}

Task<void> LiveTunnel::shut_write() {
  CAY_CO_CHECK(sort());
  if (std::exchange(shut_, true)) co_return Result<void>();
  const wire::Eof eof;
  channel_->send(wire::Type::kEof, eof);
  co_return Result<void>();
}

}  // namespace cay::runtime
