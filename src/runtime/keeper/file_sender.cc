#include "runtime/keeper/file_sender.h"

#include <algorithm>

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

Task<void> FileSender::send(std::uint64_t offset, Bytes bytes) {
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
    channel_->send(wire::Type::kData, wire::encode_data(data));
    sent += size;
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
  channel_->send(wire::Type::kEof, eof);
  while (true) {
    const Deadline deadline = after(kFileLimit);
    CAY_CO_TRY(auto frame, co_await channel_->next(deadline));
    if (!is(frame, wire::Type::kCredit)) co_return std::move(frame);
  }
}

}  // namespace cay::runtime
