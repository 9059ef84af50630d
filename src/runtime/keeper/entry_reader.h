// EntryReader: takes entries, each followed by its content, from a keeper under credit. Trees and
// layers come so (file_calls.h).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/keeper/keeper_calls.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

inline constexpr std::uint64_t kEntryWindow = 512 * 1024;

// An entry of a frame, and the bytes of content that follow it.
template <class Entry>
struct ReadEntry {
  Entry entry;
  std::uint64_t content = 0;
};

// Source: core::TreeSource or core::LayerSource. A file whose content falls short is an error: the
// receiver's framing depends on it.
template <class Source, class Entry>
class EntryReader final : public Source {
 public:
  using Event = std::optional<std::variant<Entry, Bytes>>;
  using Read = Result<ReadEntry<Entry>> (*)(const wire::Frame&);

  // Sends the request and takes the first frame, so that a missing root is an error of the call.
  static Task<std::unique_ptr<Source>> open(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                                            Read read) {
    op.credit = kEntryWindow;
    auto payload = wire::encode(op);
    CAY_CO_TRY(auto channel,
               co_await ask(std::move(line), wire::Type::kFileOp, std::move(payload)));
    channel->grant(kEntryWindow, Channel::Announce::kNo);
    auto reader = std::make_unique<EntryReader>(std::move(channel), read);
    CAY_CO_TRY(auto frame, co_await reader->next_frame());
    reader->first_ = std::move(frame);
    co_return std::unique_ptr<Source>(std::move(reader));
  }

  EntryReader(std::unique_ptr<Channel> channel, Read read)
      : channel_(std::move(channel)), read_(read) {}

  Task<Event> next() override {
    while (channel_) {
      if (owed_ >= kEntryWindow / 4) {
        channel_->grant(owed_);
        owed_ = 0;
      }
      wire::Frame frame;
      if (first_) {
        frame = std::move(*first_);
        first_.reset();
      } else {
        CAY_CO_TRY(frame, co_await next_frame());
      }
      CAY_CO_TRY(auto event, take(frame));
      if (event) co_return std::move(event);
    }
    co_return Event();
  }

 private:
  // The next frame that is not the sign of a long walk.
  Task<wire::Frame> next_frame() {
    while (true) {
      const Deadline deadline = after(kFileLimit);
      CAY_CO_TRY(auto frame, co_await channel_->next(deadline));
      if (!is(frame, wire::Type::kCredit)) co_return std::move(frame);
    }
  }

  // nullopt: nothing to report, or the end (channel_ is then null).
  Result<Event> take(const wire::Frame& frame) {
    if (is(frame, wire::Type::kData)) {
      const auto data = wire::decode_data(frame.payload);
      if (!data || data->bytes.size() > left_)
        return unexpected_frame(frame, "content within the file's size");
      if (data->bytes.empty()) return Event();
      left_ -= data->bytes.size();
      owed_ += data->bytes.size();
      return Event(Bytes(data->bytes));
    }
    if (left_ > 0)
      return unexpected_frame(frame, std::to_string(left_) + " more bytes of the file");
    if (is(frame, wire::Type::kEof)) {
      channel_->finish();
      channel_.reset();
      return Event();
    }
    CAY_TRY(auto read, read_(frame));
    owed_ += frame.payload.size();  // entries take credit as content does
    left_ = read.content;
    return Event(std::move(read.entry));
  }

  std::unique_ptr<Channel> channel_;  // null at the end
  const Read read_;
  std::optional<wire::Frame> first_;
  std::uint64_t left_ = 0;  // of the present file
  std::uint64_t owed_ = 0;
};

}  // namespace cay::runtime
