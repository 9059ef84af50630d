#include "runtime/keeper/file_sender.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>

#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {

Result<void> FileSender::take_credit(const wire::Frame& frame) {
  CAY_TRY(const auto credit, decode_as<wire::Credit>(frame, wire::Type::kCredit, "credit"));
  allowed_ += std::min(credit.bytes, UINT64_MAX - allowed_);
  return {};
}

Result<void> FileSender::take_what_came() {
  while (true) {
    CAY_TRY(auto frame, channel_->poll());
    if (!frame) return {};
    CAY_CHECK(take_credit(*frame));
  }
}

Task<bool> FileSender::piped(const PersistentLink& line) {
  if (bulk_) co_return true;
  if (sent_ < Bulk::kWorth || !Bulk::is_known(line)) co_return false;
  channel_->send(wire::Type::kBulk, std::string());
  CAY_CO_TRY(const auto frame, co_await next_word());
  if (!is(frame, wire::Type::kBulk)) co_return unexpected_frame(frame, "a socket");
  auto loop = co_await asio::this_coro::executor;
  CAY_CO_TRY(bulk_, Bulk::adopt(std::move(loop), channel_->take_passed()));
  co_return true;
}

Task<void> FileSender::send_piped(KernelPipe pipe) {
  CAY_CO_CHECK(take_what_came());
  CAY_CO_TRY(const bool taken, co_await bulk_->write_piped(std::move(pipe)));
  if (taken) co_return Result<void>{};
  auto why = co_await refused();
  co_return why;
}

Task<void> FileSender::refused() {
  CAY_CO_TRY(const auto frame, co_await next_word());
  co_return unexpected_frame(frame, "why the file takes no more");
}

Task<void> FileSender::send(std::uint64_t offset, Bytes bytes, bool last) {
  if (bulk_) {
    CAY_CO_CHECK(take_what_came());
    CAY_CO_TRY(const bool taken, co_await bulk_->write(std::move(bytes)));
    if (taken) co_return Result<void>{};
    auto why = co_await refused();
    co_return why;
  }
  sent_ += bytes.size();
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    CAY_CO_CHECK(take_what_came());
    if (allowed_ == 0) {
      const Deadline deadline = after(kFileLimit);
      CAY_CO_TRY(const auto frame, co_await channel_->next(deadline));
      CAY_CO_CHECK(take_credit(frame));
      continue;
    }
    CAY_CO_CHECK(co_await channel_->room(kFileLimit));
    const std::size_t size =
        std::min({bytes.size() - sent, std::size_t{wire::kDataChunk},
                  static_cast<std::size_t>(std::min<std::uint64_t>(allowed_, wire::kDataChunk))});
    const wire::Data data{.stream = 0,
                          .after_end = false,
                          .offset = offset + sent,
                          .bytes = std::string_view(bytes).substr(sent, size)};
    sent += size;
    if (last && sent == bytes.size()) {
      channel_->send_with_next(wire::Type::kData, wire::encode_data(data));
    } else {
      channel_->send(wire::Type::kData, wire::encode_data(data));
    }
    allowed_ -= size;
  }
  co_return Result<void>{};
}

Task<void> FileSender::announce(wire::Type type, std::string entry) {
  CAY_CO_CHECK(take_what_came());
  CAY_CO_CHECK(co_await channel_->room(kFileLimit));
  // Entries take credit as content does: many names are held by nobody.
  while (allowed_ < entry.size()) {
    const Deadline deadline = after(kFileLimit);
    CAY_CO_TRY(const auto frame, co_await channel_->next(deadline));
    CAY_CO_CHECK(take_credit(frame));
  }
  allowed_ -= entry.size();
  channel_->send(type, std::move(entry));
  co_return Result<void>{};
}

Task<wire::Frame> FileSender::finish() {
  const wire::Eof eof;
  if (bulk_) bulk_->end();  // first: the keeper's word comes to a helper that has it all
  channel_->send(wire::Type::kEof, eof);
  auto word = co_await next_word();
  co_return word;
}

Task<wire::Frame> FileSender::next_word() {
  while (true) {
    const Deadline deadline = after(kFileLimit);
    CAY_CO_TRY(auto frame, co_await channel_->next(deadline));
    if (!is(frame, wire::Type::kCredit)) co_return std::move(frame);
  }
}

}  // namespace cay::runtime
