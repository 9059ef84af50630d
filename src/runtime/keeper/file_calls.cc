#include "runtime/keeper/file_calls.h"

#include <boost/asio/this_coro.hpp>

#include "async/piped.h"
#include "runtime/keeper/bulk.h"
#include "runtime/keeper/convert.h"
#include "runtime/keeper/file_sender.h"
#include "runtime/keeper/keeper_calls.h"
#include "wire/keeper_features.h"

namespace cay::runtime {
namespace {

constexpr std::uint64_t kReadWindow = 512 * 1024;

// The content of one file: from the keeper under credit, or from the helper over a socket of its
// own.
class FileBytes final : public PipedSource {
 public:
  FileBytes(std::unique_ptr<Channel> channel, std::uint64_t offset)
      : channel_(std::move(channel)), offset_(offset) {}

  Task<Bytes> next() override {
    if (!channel_) co_return Bytes();
    if (bulk_) {
      auto bytes = co_await next_of_bulk();
      co_return bytes;
    }
    if (owed_ >= kReadWindow / 4) {
      channel_->grant(owed_);
      owed_ = 0;
    }
    while (true) {
      if (failed_) co_return *failed_;
      if (!come_) {
        const Deadline deadline = after(kFileLimit);
        CAY_CO_TRY(come_, co_await channel_->next(deadline));
      }
      const wire::Frame frame = *std::exchange(come_, std::nullopt);
      if (is(frame, wire::Type::kBulk)) {
        auto loop = co_await asio::this_coro::executor;
        CAY_CO_TRY(bulk_, Bulk::adopt(std::move(loop), channel_->take_passed()));
        auto bytes = co_await next_of_bulk();
        co_return bytes;
      }
      CAY_CO_TRY(auto bytes, content_of(frame));
      if (bytes) co_return *std::move(bytes);
    }
  }

  std::optional<Bytes> come() override {
    if (!channel_) return Bytes();
    if (bulk_ || come_ || failed_) return std::nullopt;
    auto frame = channel_->poll();
    if (!frame) failed_ = std::move(frame).error();
    if (failed_ || !*frame) return std::nullopt;
    if (is(**frame, wire::Type::kBulk)) {
      come_ = **std::move(frame);
      return std::nullopt;
    }
    auto bytes = content_of(**frame);
    if (bytes) return *std::move(bytes);
    failed_ = std::move(bytes).error();
    return std::nullopt;
  }
  bool can_splice() const override { return channel_ && bulk_; }
  Task<KernelPipe> next_piped() override {
    CAY_CO_TRY(KernelPipe pipe, co_await bulk_->read_piped());
    if (pipe.empty()) {
      CAY_CO_CHECK(co_await confirm_end());
    }
    co_return std::move(pipe);
  }

 private:
  Task<Bytes> next_of_bulk() {
    CAY_CO_TRY(Bytes bytes, co_await bulk_->read());
    if (bytes.empty()) {
      CAY_CO_CHECK(co_await confirm_end());
    }
    co_return std::move(bytes);
  }

  // After the end of the stream: the helper confirms that it sent the whole content.
  Task<void> confirm_end() {
    const Deadline deadline = after(kFileLimit);
    CAY_CO_TRY(const auto frame, co_await channel_->next(deadline));
    if (!is(frame, wire::Type::kEof)) co_return unexpected_frame(frame, "the end of the file");
    channel_->finish();
    channel_.reset();
    co_return Result<void>{};
  }

  // The content of a frame, empty at the end. Nothing: the frame has none.
  Result<std::optional<Bytes>> content_of(const wire::Frame& frame) {
    if (is(frame, wire::Type::kEof)) {
      channel_->finish();
      channel_.reset();
      return std::optional<Bytes>(Bytes());
    }
    const auto data =
        is(frame, wire::Type::kData) ? wire::decode_data(frame.payload) : std::nullopt;
    if (!data) return unexpected_frame(frame, "file content");
    if (data->offset != offset_) return unexpected_frame(frame, "the next byte of the file");
    if (data->bytes.empty()) return std::optional<Bytes>();
    offset_ += data->bytes.size();
    owed_ += data->bytes.size();
    return std::optional<Bytes>(data->bytes);
  }

  std::unique_ptr<Channel> channel_;  // null at the end
  std::unique_ptr<Bulk> bulk_;
  std::uint64_t offset_;
  std::uint64_t owed_ = 0;
  std::optional<wire::Frame> come_;  // for next(), as come() saw it
  std::optional<Error> failed_;
};

// Bounds what a collector keeps.
class Collected {
 public:
  Result<void> add(const wire::Frame& frame) {
    ++entries_;
    bytes_ += frame.payload.size();
    if (entries_ <= kMaxEntries && bytes_ <= kMaxEntryBytes) return {};
    return Error{Code::kExhausted, "listing_too_large",
                 "more than " + std::to_string(kMaxEntries) +
                     " entries: request a smaller part, or set a limit",
                 0};
  }

 private:
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

// Collects `Message` frames until EOF. Returns true if the keeper reports that it cut the answer
// short.
template <class Message, class Add>
Task<bool> collect(std::shared_ptr<PersistentLink> line, wire::FileOp op, wire::Type type,
                   Add add) {
  auto payload = wire::encode(op);
  CAY_CO_TRY(auto channel, co_await ask(std::move(line), wire::Type::kFileOp, std::move(payload)));
  Collected collected;
  while (true) {
    const Deadline deadline = after(kFileLimit);
    CAY_CO_TRY(const auto frame, co_await channel->next(deadline));
    if (is(frame, wire::Type::kCredit)) continue;  // long work goes on
    if (is(frame, wire::Type::kEof)) {
      channel->finish();
      CAY_CO_TRY(const auto eof, decode_as<wire::Eof>(frame, wire::Type::kEof, "the end"));
      co_return eof.truncated;
    }
    CAY_CO_TRY(const auto message, decode_as<Message>(frame, type, "an entry"));
    CAY_CO_CHECK(collected.add(frame));
    add(message);
  }
}

}  // namespace

wire::FileOp file_op(wire::FileVerb verb, const std::string& path, const FileAs& as) {
  wire::FileOp op;
  op.verb = static_cast<std::uint8_t>(verb);
  op.path = path;
  op.user = as.user;
  op.workdir = as.workdir;
  return op;
}

Task<FileInfo> file_stat(std::shared_ptr<PersistentLink> line, wire::FileOp op) {
  auto payload = wire::encode(op);
  CAY_CO_TRY(const auto frame, co_await call(std::move(line), wire::Type::kFileOp,
                                             std::move(payload), Repeat::kSafe, kFileLimit));
  CAY_CO_TRY(const auto info,
             decode_as<wire::FileInfoMsg>(frame, wire::Type::kFileInfo, "file facts"));
  co_return to_model(info);
}

Task<void> file_change(std::shared_ptr<PersistentLink> line, wire::FileOp op, bool repeatable) {
  auto payload = wire::encode(op);
  const Repeat repeat = repeatable ? Repeat::kSafe : Repeat::kUnsafe;
  auto done = co_await call_ok(std::move(line), wire::Type::kFileOp, std::move(payload), repeat,
                               kFileLimit);
  co_return done;
}

Task<core::FileStream> file_read(std::shared_ptr<PersistentLink> line, wire::FileOp op) {
  op.credit = kReadWindow;
  CAY_CO_CHECK(co_await line->link(kLinkLimit));  // which knows the keeper
  if (Bulk::is_known(*line)) op.bulk_from = Bulk::kWorth;
  auto payload = wire::encode(op);
  CAY_CO_TRY(auto channel, co_await ask(std::move(line), wire::Type::kFileOp, std::move(payload)));
  channel->grant(kReadWindow, Channel::Announce::kNo);
  const Deadline deadline = after(kFileLimit);
  CAY_CO_TRY(const auto frame, co_await channel->next(deadline));
  CAY_CO_TRY(const auto info,
             decode_as<wire::FileInfoMsg>(frame, wire::Type::kFileInfo, "file facts"));
  core::FileStream stream;
  stream.info = to_model(info);
  stream.bytes = std::make_unique<FileBytes>(std::move(channel), op.offset);
  co_return std::move(stream);
}

Task<FileInfo> file_write(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                          std::unique_ptr<ByteSource> data) {
  auto payload = wire::encode(op);
  CAY_CO_CHECK(check_fits(wire::Type::kFileOp, payload));
  CAY_CO_TRY(auto link, co_await line->link(kLinkLimit));
  const bool ahead = line->theirs().has(wire::keeper_feature::kWriteAhead);
  auto channel = link->open();
  if (ahead) {
    channel->send_with_next(wire::Type::kFileOp, std::move(payload));
  } else {
    channel->send(wire::Type::kFileOp, std::move(payload));
  }
  FileSender sender(std::move(channel), ahead ? wire::kUploadAhead : 0);
  auto* piped = dynamic_cast<PipedSource*>(data.get());
  std::uint64_t offset = 0;
  while (true) {
    CAY_CO_TRY(const bool bulk, co_await sender.piped(*line));
    if (bulk && piped != nullptr && piped->can_splice()) {
      CAY_CO_TRY(KernelPipe pipe, co_await piped->next_piped());
      CAY_CO_CHECK(co_await sender.send_piped(std::move(pipe)));
      continue;
    }
    CAY_CO_TRY(auto bytes, co_await data->next());
    if (bytes.empty()) break;
    const auto more = piped == nullptr ? std::nullopt : piped->come();
    if (more) bytes += *more;
    const bool last = more && more->empty();
    const std::size_t size = bytes.size();
    CAY_CO_CHECK(co_await sender.send(offset, std::move(bytes), last));
    offset += size;
    if (last) break;
  }
  CAY_CO_TRY(const auto frame, co_await sender.finish());
  CAY_CO_TRY(const auto info, decode_as<wire::FileInfoMsg>(frame, wire::Type::kFileInfo,
                                                           "facts of the file written"));
  const Deadline deadline = after(kFileLimit);
  CAY_CO_TRY(const auto last, co_await sender.channel().next(deadline));
  if (!is(last, wire::Type::kOk)) co_return unexpected_frame(last, "ok");
  sender.channel().finish();
  co_return to_model(info);
}

Task<GlobResult> file_entries(std::shared_ptr<PersistentLink> line, wire::FileOp op) {
  GlobResult result;
  auto add = [&result](const wire::FileInfoMsg& info) { result.matches.push_back(to_model(info)); };
  auto all = collect<wire::FileInfoMsg>(std::move(line), std::move(op), wire::Type::kFileInfo, add);
  CAY_CO_TRY(result.truncated, co_await std::move(all));
  co_return std::move(result);
}

Task<GrepResult> file_grep(std::shared_ptr<PersistentLink> line, wire::FileOp op) {
  GrepResult result;
  auto add = [&result](const wire::GrepMatchMsg& match) {
    result.matches.push_back(GrepMatch{.path = match.path, .line = match.line, .text = match.text});
  };
  auto all =
      collect<wire::GrepMatchMsg>(std::move(line), std::move(op), wire::Type::kGrepMatch, add);
  CAY_CO_TRY(result.truncated, co_await std::move(all));
  co_return std::move(result);
}

}  // namespace cay::runtime
