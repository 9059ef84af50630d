// Directory trees through the keeper, both ways (file_calls.h).
#include "runtime/keeper/convert.h"
#include "runtime/keeper/file_calls.h"
#include "runtime/keeper/file_sender.h"
#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {
namespace {

constexpr std::uint64_t kTreeWindow = 512 * 1024;

// Entries and content from the keeper. A file entry whose content falls short is an error: the
// receiver's framing depends on it.
class TreeReader final : public core::TreeSource {
 public:
  explicit TreeReader(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  // Takes the first frame, so that a missing root is an error of the call.
  Task<void> open() {
    const Deadline deadline = after(kFileLimit);
    CAY_CO_TRY(auto frame, co_await channel_->next(deadline));
    first_ = std::move(frame);
    co_return Result<void>{};
  }

  Task<std::optional<core::TreeEvent>> next() override {
    if (!channel_) co_return std::optional<core::TreeEvent>();
    if (owed_ >= kTreeWindow / 4) {
      channel_->grant(owed_);
      owed_ = 0;
    }
    while (true) {
      wire::Frame frame;
      if (first_) {
        frame = std::move(*first_);
        first_.reset();
      } else {
        const Deadline deadline = after(kFileLimit);
        CAY_CO_TRY(frame, co_await channel_->next(deadline));
      }
      CAY_CO_TRY(auto event, take(frame));
      if (event) co_return std::move(event);
      if (!channel_) co_return std::optional<core::TreeEvent>();
    }
  }

 private:
  // nullopt: nothing to report, or the end (channel_ is then null).
  Result<std::optional<core::TreeEvent>> take(const wire::Frame& frame) {
    using Event = std::optional<core::TreeEvent>;
    if (is(frame, wire::Type::kData)) {
      const auto data = wire::decode_data(frame.payload);
      if (!data || data->bytes.size() > left_)
        return unexpected_frame(frame, "content within the file's size");
      if (data->bytes.empty()) return Event();
      left_ -= data->bytes.size();
      owed_ += data->bytes.size();
      return Event(core::TreeEvent(Bytes(data->bytes)));
    }
    if (left_ > 0)
      return unexpected_frame(frame, std::to_string(left_) + " more bytes of the file");
    if (is(frame, wire::Type::kEof)) {
      channel_->finish();
      channel_.reset();
      return Event();
    }
    CAY_TRY(const auto info,
            decode_as<wire::FileInfoMsg>(frame, wire::Type::kFileInfo, "a tree entry"));
    owed_ += frame.payload.size();  // entries take credit as content does
    core::TreeEntry entry{.info = to_model(info)};
    if (entry.info.kind == FileKind::kFile) left_ = entry.info.size;
    return Event(core::TreeEvent(std::move(entry)));
  }

  std::unique_ptr<Channel> channel_;  // null at the end
  std::optional<wire::Frame> first_;
  std::uint64_t left_ = 0;  // of the present file
  std::uint64_t owed_ = 0;
};

Error short_tree() {
  return Error{Code::kInvalidArgument, "bad_tree",
               "a file of the tree has not the size that its entry says", 0};
}

}  // namespace

Task<std::unique_ptr<core::TreeSource>> tree_read(std::shared_ptr<PersistentLink> line,
                                                  wire::FileOp op) {
  op.credit = kTreeWindow;
  auto payload = wire::encode(op);
  CAY_CO_TRY(auto channel, co_await ask(std::move(line), wire::Type::kFileOp, std::move(payload)));
  channel->grant(kTreeWindow, Channel::Announce::kNo);
  auto tree = std::make_unique<TreeReader>(std::move(channel));
  CAY_CO_CHECK(co_await tree->open());
  co_return std::unique_ptr<core::TreeSource>(std::move(tree));
}

Task<void> tree_write(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                      std::unique_ptr<core::TreeSource> tree) {
  auto payload = wire::encode(op);
  CAY_CO_TRY(auto channel, co_await ask(std::move(line), wire::Type::kFileOp, std::move(payload)));
  FileSender sender(std::move(channel));
  std::uint64_t size = 0;  // of the present file
  std::uint64_t offset = 0;
  while (true) {
    CAY_CO_TRY(auto event, co_await tree->next());
    if (!event) break;
    if (auto* bytes = std::get_if<Bytes>(&*event)) {
      if (bytes->size() > size - offset) co_return short_tree();
      const std::size_t count = bytes->size();
      CAY_CO_CHECK(co_await sender.send(offset, std::move(*bytes)));
      offset += count;
      continue;
    }
    if (offset != size) co_return short_tree();
    const FileInfo& info = std::get<core::TreeEntry>(*event).info;
    size = info.kind == FileKind::kFile ? info.size : 0;
    offset = 0;
    auto entry = wire::encode(to_wire(info));
    if (entry.size() > wire::kDataChunk) {
      co_return Error{Code::kInvalidArgument, "bad_path",
                      "a path or link target in the tree is too long", 0};
    }
    CAY_CO_CHECK(co_await sender.announce(wire::Type::kFileInfo, std::move(entry)));
  }
  if (offset != size) co_return short_tree();
  CAY_CO_TRY(const auto last, co_await sender.finish());
  if (!is(last, wire::Type::kOk)) co_return unexpected_frame(last, "ok");
  sender.channel().finish();
  co_return Result<void>{};
}

}  // namespace cay::runtime
