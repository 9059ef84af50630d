// Layers through the keeper, both ways (file_calls.h).
#include "runtime/keeper/convert.h"
#include "runtime/keeper/file_calls.h"
#include "runtime/keeper/file_sender.h"
#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {
namespace {

constexpr std::uint64_t kLayerWindow = 512 * 1024;

// Entries and content from the keeper. A file whose content falls short is an error: the receiver's
// framing depends on it.
class LayerReader final : public core::LayerSource {
 public:
  explicit LayerReader(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  // Takes the first frame, so that a missing directory is an error of the call.
  Task<void> open() {
    CAY_CO_TRY(auto frame, co_await next_frame());
    first_ = std::move(frame);
    co_return Result<void>{};
  }

  Task<std::optional<core::LayerEvent>> next() override {
    while (channel_) {
      if (owed_ >= kLayerWindow / 4) {
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
    co_return std::optional<core::LayerEvent>();
  }

 private:
  using Event = std::optional<core::LayerEvent>;

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
      return Event(core::LayerEvent(Bytes(data->bytes)));
    }
    if (left_ > 0)
      return unexpected_frame(frame, std::to_string(left_) + " more bytes of the file");
    if (is(frame, wire::Type::kEof)) {
      channel_->finish();
      channel_.reset();
      return Event();
    }
    CAY_TRY(const auto message,
            decode_as<wire::LayerEntryMsg>(frame, wire::Type::kLayerEntry, "a layer's entry"));
    owed_ += frame.payload.size();  // entries take credit as content does
    auto entry = to_model(message);
    if (!entry) return unexpected_frame(frame, "an entry of a known kind");
    if (entry->kind == core::EntryKind::kFile) left_ = entry->size;
    return Event(core::LayerEvent(*std::move(entry)));
  }

  std::unique_ptr<Channel> channel_;  // null at the end
  std::optional<wire::Frame> first_;
  std::uint64_t left_ = 0;  // of the present file
  std::uint64_t owed_ = 0;
};

Error bad_layer(const std::string& path, const std::string& why) {
  return Error{Code::kInvalidArgument, "bad_layer", "the layer's entry \"" + path + "\": " + why,
               0};
}

}  // namespace

Task<std::unique_ptr<core::LayerSource>> layer_read(std::shared_ptr<PersistentLink> line,
                                                    wire::FileOp op) {
  op.credit = kLayerWindow;
  auto payload = wire::encode(op);
  CAY_CO_TRY(auto channel, co_await ask(std::move(line), wire::Type::kFileOp, std::move(payload)));
  channel->grant(kLayerWindow, Channel::Announce::kNo);
  auto layer = std::make_unique<LayerReader>(std::move(channel));
  CAY_CO_CHECK(co_await layer->open());
  co_return std::unique_ptr<core::LayerSource>(std::move(layer));
}

Task<void> layer_write(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                       std::unique_ptr<core::LayerSource> entries) {
  auto request = wire::encode(op);
  CAY_CO_TRY(auto channel, co_await ask(std::move(line), wire::Type::kFileOp, std::move(request)));
  FileSender sender(std::move(channel));
  std::string path;  // of the present entry
  std::uint64_t left = 0;
  std::uint64_t offset = 0;
  while (true) {
    CAY_CO_TRY(auto event, co_await entries->next());
    if (event && std::holds_alternative<Bytes>(*event)) {
      Bytes& bytes = std::get<Bytes>(*event);
      const std::size_t count = bytes.size();
      if (count > left) co_return bad_layer(path, "it has more content than its size says");
      CAY_CO_CHECK(co_await sender.send(offset, std::move(bytes)));
      offset += count;
      left -= count;
      continue;
    }
    if (left > 0) co_return bad_layer(path, "it has less content than its size says");
    if (!event) break;
    const auto& entry = std::get<core::LayerEntry>(*event);
    path = entry.path;
    left = entry.kind == core::EntryKind::kFile ? entry.size : 0;
    offset = 0;
    auto payload = wire::encode(to_wire(entry));
    if (payload.size() > wire::kDataChunk)
      co_return bad_layer(path.substr(0, 256), "its names and attributes take too much");
    CAY_CO_CHECK(co_await sender.announce(wire::Type::kLayerEntry, std::move(payload)));
  }
  CAY_CO_TRY(const auto last, co_await sender.finish());
  if (!is(last, wire::Type::kOk)) co_return unexpected_frame(last, "ok");
  sender.channel().finish();
  co_return Result<void>{};
}

}  // namespace cay::runtime
