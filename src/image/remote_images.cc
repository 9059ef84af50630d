#include "image/remote_images.h"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "codec/utf8.h"
#include "image/digest.h"
#include "image/messages.h"
#include "wire/frame.h"
#include "wire/image.h"

namespace cay::image {
namespace {

constexpr std::size_t kBuffer = 256 * 1024;
constexpr std::size_t kLongestNote = 500;

Error unavailable(const std::string& why) {
  return {Code::kUnavailable, "images_unavailable",
          "the process that fetches images " + why +
              ": retry. Its last words are in images.log of the data directory",
          0};
}

// One connection to the image process.
class Link {
 public:
  explicit Link(asio::any_io_executor loop) : socket_(std::move(loop)), buffer_(kBuffer, '\0') {}

  Task<void> connect(std::string path) {
    boost::system::error_code error;
    co_await socket_.async_connect(asio::local::stream_protocol::endpoint(path),
                                   asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return unavailable("does not answer (" + error.message() + ")");
    co_return Result<void>();
  }

  Task<void> send(std::uint16_t type, std::string payload) {
    const std::string bytes =
        wire::encode_frame({.type = type, .flags = 0, .channel = 1, .payload = std::move(payload)});
    boost::system::error_code error;
    co_await asio::async_write(socket_, asio::buffer(bytes),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return unavailable("does not listen (" + error.message() + ")");
    co_return Result<void>();
  }

  // Errors that it sent are ours.
  Task<wire::Frame> receive() {
    for (;;) {
      auto frame = reader_.next();
      if (frame && frame->type == number(wire::Type::kError)) {
        auto message = wire::decode<wire::ErrorMsg>(frame->payload);
        close();
        if (!message) co_return unavailable("does not keep to its protocol");
        co_return error_of(*std::move(message));
      }
      if (frame) co_return *std::move(frame);
      if (reader_.bad()) {
        close();
        co_return unavailable("does not keep to its protocol");
      }
      boost::system::error_code error;
      const std::size_t n = co_await socket_.async_read_some(
          asio::buffer(buffer_), asio::redirect_error(asio::use_awaitable, error));
      if (error) {
        close();
        co_return unavailable("ended");
      }
      reader_.feed(std::string_view(buffer_).substr(0, n));
    }
  }

  // Returns the frame of `type`, and passes progress on until then.
  Task<wire::Frame> answer(wire::ImageType type, const core::Told& told) {
    for (;;) {
      CAY_CO_TRY(wire::Frame frame, co_await receive());
      if (frame.type == number(type)) co_return std::move(frame);
      const auto progress = frame.type == number(wire::Type::kProgress)
                                ? wire::decode<wire::ProgressMsg>(frame.payload)
                                : std::nullopt;
      if (!progress) {
        close();
        co_return unavailable("does not keep to its protocol");
      }
      if (told) told(codec::sanitised_utf8(progress->text));
    }
  }

  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  bool is_open() const { return socket_.is_open(); }
  void keep_note(std::string note) { note_ = std::move(note); }
  const std::string& note() const { return note_; }

 private:
  asio::local::stream_protocol::socket socket_;
  wire::FrameReader reader_;
  std::string buffer_;
  std::string note_;
};

class Source final : public core::LayerSource {
 public:
  Source(std::shared_ptr<Link> link, core::Told told)
      : link_(std::move(link)), told_(std::move(told)) {}
  // The rest would be taken for the next layer's.
  ~Source() override {
    if (!ended_) link_->close();
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  Task<std::optional<core::LayerEvent>> next() override {
    while (!ended_) {
      CAY_CO_TRY(wire::Frame frame, co_await link_->receive());
      if (frame.type == number(wire::Type::kProgress)) {
        const auto progress = wire::decode<wire::ProgressMsg>(frame.payload);
        if (progress && told_) told_(codec::sanitised_utf8(progress->text));
        continue;
      }
      if (frame.type == number(wire::ImageType::kNote)) {
        const auto note = wire::decode<wire::ProgressMsg>(frame.payload);
        if (note) link_->keep_note(codec::sanitised_utf8(note->text.substr(0, kLongestNote)));
        continue;
      }
      if (frame.type == number(wire::Type::kEof) && left_ == 0) {
        ended_ = true;
        break;
      }
      auto event = event_of(frame);
      if (!event) link_->close();
      if (!event) co_return std::move(event).error();
      co_return std::optional<core::LayerEvent>(*std::move(event));
    }
    co_return std::optional<core::LayerEvent>();
  }

 private:
  Result<core::LayerEvent> event_of(const wire::Frame& frame) {
    if (frame.type == number(wire::Type::kLayerEntry) && left_ == 0) {
      auto message = wire::decode<wire::LayerEntryMsg>(frame.payload);
      if (!message) return unavailable("does not keep to its protocol");
      CAY_TRY(core::LayerEntry entry, entry_of(*std::move(message)));
      left_ = entry.size;
      return core::LayerEvent(std::move(entry));
    }
    const auto data =
        frame.type == number(wire::Type::kData) ? wire::decode_data(frame.payload) : std::nullopt;
    if (!data || data->bytes.empty() || data->bytes.size() > left_)
      return unavailable("does not keep to its protocol");
    left_ -= data->bytes.size();
    return core::LayerEvent(Bytes(data->bytes));
  }

  std::shared_ptr<Link> link_;
  core::Told told_;
  std::uint64_t left_ = 0;  // of the file whose bytes come
  bool ended_ = false;
};

// An archive that the process writes.
class ArchiveBytes final : public ByteSource {
 public:
  explicit ArchiveBytes(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  Task<Bytes> next() override {
    while (!ended_) {
      CAY_CO_TRY(wire::Frame frame, co_await link_->receive());
      if (frame.type == number(wire::Type::kEof)) {
        ended_ = true;
        break;
      }
      if (frame.type == number(wire::Type::kProgress)) continue;
      const auto data =
          frame.type == number(wire::Type::kData) ? wire::decode_data(frame.payload) : std::nullopt;
      if (!data || data->bytes.empty()) {
        link_->close();
        co_return unavailable("does not keep to its protocol");
      }
      co_return Bytes(data->bytes);
    }
    co_return Bytes();
  }

 private:
  std::shared_ptr<Link> link_;
  bool ended_ = false;
};

class Opened final : public core::OpenImage {
 public:
  Opened(std::shared_ptr<Link> link, core::ImageFacts facts, core::Told told)
      : link_(std::move(link)), facts_(std::move(facts)), told_(std::move(told)) {}

  const core::ImageFacts& facts() const override { return facts_; }

  Task<std::unique_ptr<core::LayerSource>> layer(std::size_t index) override {
    if (!link_->is_open()) co_return unavailable("left this image");
    wire::LayerOf wanted;
    wanted.index = static_cast<std::uint32_t>(index);
    CAY_CO_CHECK(co_await link_->send(number(wire::ImageType::kLayerOf), wire::encode(wanted)));
    std::unique_ptr<core::LayerSource> out = std::make_unique<Source>(link_, told_);
    co_return std::move(out);
  }

  std::string note() const override { return link_->note(); }

 private:
  std::shared_ptr<Link> link_;
  core::ImageFacts facts_;
  core::Told told_;
};

class RemoteImages final : public core::Images {
 public:
  RemoteImages(asio::any_io_executor loop, std::string socket)
      : loop_(std::move(loop)), path_(std::move(socket)) {}

  Task<std::unique_ptr<core::OpenImage>> pull(core::PullRequest request, core::Told told) override {
    auto link = std::make_shared<Link>(loop_);
    CAY_CO_CHECK(co_await link->connect(path_));
    CAY_CO_CHECK(
        co_await link->send(number(wire::ImageType::kPull), wire::encode(message_of(request))));
    auto opened = co_await open(std::move(link), std::move(told));
    co_return opened;
  }

  Task<std::unique_ptr<core::OpenImage>> read(std::unique_ptr<ByteSource> archive,
                                              core::ArchiveKind kind, std::string owner,
                                              core::Told told) override {
    auto link = std::make_shared<Link>(loop_);
    CAY_CO_CHECK(co_await link->connect(path_));
    wire::ReadArchive request;
    request.root = kind == core::ArchiveKind::kRoot;
    request.owner = std::move(owner);
    CAY_CO_CHECK(co_await link->send(number(wire::ImageType::kRead), wire::encode(request)));
    std::uint64_t offset = 0;
    for (;;) {
      CAY_CO_TRY(const Bytes piece, co_await archive->next());
      if (piece.empty()) break;
      auto sent = co_await send_bytes(*link, piece, offset);
      if (!sent) {
        Error refused = co_await why(*link, std::move(sent).error());
        co_return refused;
      }
      offset += piece.size();
    }
    auto ended = co_await link->send(number(wire::Type::kEof), {});
    if (!ended) {
      Error refused = co_await why(*link, std::move(ended).error());
      co_return refused;
    }
    auto opened = co_await open(std::move(link), std::move(told));
    co_return opened;
  }

  Task<std::unique_ptr<ByteSource>> write_archive(
      core::PushRequest request, std::vector<std::unique_ptr<core::LayerSource>> layers) override {
    auto link = std::make_shared<Link>(loop_);
    CAY_CO_CHECK(co_await link->connect(path_));
    CAY_CO_CHECK(co_await link->send(number(wire::ImageType::kExport),
                                     wire::encode(message_of(request, layers.size()))));
    for (std::unique_ptr<core::LayerSource>& layer : layers) {
      CAY_CO_CHECK(co_await send_layer(*link, *layer));
      layer.reset();
    }
    std::unique_ptr<ByteSource> out = std::make_unique<ArchiveBytes>(std::move(link));
    co_return std::move(out);
  }

  Task<std::string> push(core::PushRequest request,
                         std::vector<std::unique_ptr<core::LayerSource>> layers,
                         core::Told told) override {
    auto link = std::make_shared<Link>(loop_);
    CAY_CO_CHECK(co_await link->connect(path_));
    CAY_CO_CHECK(co_await link->send(number(wire::ImageType::kPush),
                                     wire::encode(message_of(request, layers.size()))));
    for (std::unique_ptr<core::LayerSource>& layer : layers) {
      CAY_CO_CHECK(co_await send_layer(*link, *layer));
      layer.reset();
    }
    CAY_CO_TRY(const wire::Frame frame, co_await link->answer(wire::ImageType::kPushed, told));
    auto pushed = wire::decode<wire::Pushed>(frame.payload);
    if (!pushed || !is_digest(pushed->digest))
      co_return unavailable("does not keep to its protocol");
    co_return std::move(pushed->digest);
  }

 private:
  // It may have sent an error and closed before it read everything.
  static asio::awaitable<Error> why(Link& link, Error otherwise) {
    for (;;) {
      auto frame = co_await link.receive();
      if (!frame && frame.error().reason != "images_unavailable")
        co_return std::move(frame).error();
      if (!frame) co_return otherwise;
    }
  }

  static Task<void> send_layer(Link& link, core::LayerSource& layer) {
    std::uint64_t offset = 0;
    for (;;) {
      CAY_CO_TRY(const auto event, co_await layer.next());
      Result<void> sent;
      if (!event) {
        sent = co_await link.send(number(wire::Type::kEof), {});
      } else if (const auto* entry = std::get_if<core::LayerEntry>(&*event)) {
        offset = 0;
        sent =
            co_await link.send(number(wire::Type::kLayerEntry), wire::encode(message_of(*entry)));
      } else {
        const auto& bytes = std::get<Bytes>(*event);
        sent = co_await send_bytes(link, bytes, offset);
        offset += bytes.size();
      }
      if (!sent) {
        Error refused = co_await why(link, std::move(sent).error());
        co_return refused;
      }
      if (!event) co_return Result<void>();
    }
  }

  static Task<void> send_bytes(Link& link, const Bytes& bytes, std::uint64_t offset) {
    for (std::size_t at = 0; at < bytes.size(); at += wire::kDataChunk) {
      wire::Data data;
      data.offset = offset + at;
      data.bytes = std::string_view(bytes).substr(at, wire::kDataChunk);
      CAY_CO_CHECK(co_await link.send(number(wire::Type::kData), wire::encode_data(data)));
    }
    co_return Result<void>();
  }

  static Task<std::unique_ptr<core::OpenImage>> open(std::shared_ptr<Link> link, core::Told told) {
    CAY_CO_TRY(const wire::Frame frame, co_await link->answer(wire::ImageType::kImage, told));
    auto message = wire::decode<wire::ImageMsg>(frame.payload);
    if (!message) co_return unavailable("does not keep to its protocol");
    CAY_CO_TRY(core::ImageFacts facts, facts_of(*std::move(message)));
    std::unique_ptr<core::OpenImage> out =
        std::make_unique<Opened>(std::move(link), std::move(facts), std::move(told));
    co_return std::move(out);
  }

  asio::any_io_executor loop_;
  std::string path_;
};

}  // namespace

std::unique_ptr<core::Images> remote_images(asio::any_io_executor loop, std::string socket) {
  return std::make_unique<RemoteImages>(std::move(loop), std::move(socket));
}

}  // namespace cay::image
