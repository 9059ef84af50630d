#include "image/conversation.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "async/deadline.h"
#include "image/archive_image.h"
#include "image/frame_socket.h"
#include "image/layer_reader.h"
#include "image/layer_writer.h"
#include "image/manifest.h"
#include "image/messages.h"
#include "image/oci_archive.h"
#include "image/platform.h"
#include "image/pull.h"
#include "image/push.h"
#include "wire/image.h"

namespace cay::image {
namespace {

constexpr Millis kLookEvery{500};
constexpr std::size_t kLongestName = 100;  // of a device, in a note

class Conversation {
 public:
  Conversation(UniqueFd socket, BlobStore store, const Settings& settings)
      : socket_(std::move(socket)), store_(std::move(store)), settings_(settings) {}

  void run() {
    const auto first = socket_.receive();
    if (!first) return;
    if (first->type == number(wire::ImageType::kPush)) {
      push(first->payload);
      return;
    }
    if (first->type == number(wire::ImageType::kExport)) {
      write_archive(first->payload);
      return;
    }
    Result<FetchedImage> image;
    if (first->type == number(wire::ImageType::kPull)) {
      image = pull(first->payload);
    } else if (first->type == number(wire::ImageType::kRead)) {
      image = read(first->payload);
    } else {
      image = unknown();
    }
    if (!image) {
      fail(image.error());
      return;
    }
    if (!socket_.send(number(wire::ImageType::kImage), wire::encode(message_of(image->facts))))
      return;
    while (const auto frame = socket_.receive()) {
      const auto wanted = frame->type == number(wire::ImageType::kLayerOf)
                              ? wire::decode<wire::LayerOf>(frame->payload)
                              : std::nullopt;
      if (!wanted || wanted->index >= image->layers.size()) {
        fail(unknown());
        return;
      }
      if (!send_layer(*image, wanted->index)) return;
    }
  }

 private:
  static Error unknown() {
    return {Code::kUnsupported, "images_unavailable",
            "the image process does not know this request: it may be of another release", 0};
  }

  void fail(const Error& error) {
    socket_.send(number(wire::Type::kError), wire::encode(message_of(error)));
  }

  core::Told told() {
    return [this](std::string text) {
      wire::ProgressMsg message;
      message.text = std::move(text);
      socket_.send(number(wire::Type::kProgress), wire::encode(message));
    };
  }

  Result<FetchedImage> pull(const std::string& payload) {
    auto message = wire::decode<wire::PullImage>(payload);
    if (!message) return unknown();
    store_.belong_to(message->owner);
    asio::io_context loop(1);
    return run<FetchedImage>(loop, pull_image(loop.get_executor(), request_of(*std::move(message)),
                                              settings_, store_, told()));
  }

  void push(const std::string& payload) {
    auto pushed = push_all(payload);
    if (!pushed) {
      fail(pushed.error());
      return;
    }
    wire::Pushed message;
    message.digest = *std::move(pushed);
    socket_.send(number(wire::ImageType::kPushed), wire::encode(message));
  }

  Result<std::vector<WrittenLayer>> receive_layers(std::uint32_t count) {
    if (count > kMostLayers) return unknown();
    std::vector<WrittenLayer> layers;
    for (std::uint32_t i = 0; i < count; ++i) {
      CAY_TRY(WrittenLayer layer, receive_layer());
      layers.push_back(std::move(layer));
    }
    return layers;
  }

  void write_archive(const std::string& payload) {
    if (auto written = try_archive(payload); !written) fail(written.error());
  }

  Result<void> try_archive(const std::string& payload) {
    auto message = wire::decode<wire::PushImage>(payload);
    if (!message) return unknown();
    CAY_TRY(const std::vector<WrittenLayer> layers, receive_layers(message->layers));
    const core::PushRequest request = request_of(*std::move(message));
    std::uint64_t offset = 0;
    const auto out = [&](std::string_view bytes) -> Result<void> {
      for (std::size_t at = 0; at < bytes.size(); at += wire::kDataChunk) {
        wire::Data data;
        data.offset = offset + at;
        data.bytes = bytes.substr(at, wire::kDataChunk);
        if (!socket_.send(number(wire::Type::kData), wire::encode_data(data)))
          return Error{Code::kCancelled, "cancelled", "the daemon is gone", 0};
      }
      offset += bytes.size();
      return {};
    };
    CAY_CHECK(write_oci_archive(request.reference, request.config, layers, out));
    socket_.send(number(wire::Type::kEof), {});
    return {};
  }

  Result<std::string> push_all(const std::string& payload) {
    auto message = wire::decode<wire::PushImage>(payload);
    if (!message) return unknown();
    CAY_TRY(std::vector<WrittenLayer> layers, receive_layers(message->layers));
    asio::io_context loop(1);
    return run<std::string>(loop, push_image(loop.get_executor(), request_of(*std::move(message)),
                                             settings_, store_, std::move(layers), told()));
  }

  Result<WrittenLayer> receive_layer() {
    CAY_TRY(UniqueFd file, store_.temporary());
    CAY_TRY(LayerWriter writer, LayerWriter::create(std::move(file)));
    for (;;) {
      const auto frame = socket_.receive();
      if (!frame) return Error{Code::kCancelled, "cancelled", "the daemon is gone", 0};
      if (frame->type == number(wire::Type::kEof)) return writer.finish();
      if (frame->type == number(wire::Type::kData)) {
        const auto data = wire::decode_data(frame->payload);
        if (!data) return unknown();
        CAY_CHECK(writer.add(data->bytes));
        continue;
      }
      auto message = frame->type == number(wire::Type::kLayerEntry)
                         ? wire::decode<wire::LayerEntryMsg>(frame->payload)
                         : std::nullopt;
      if (!message) return unknown();
      CAY_TRY(const core::LayerEntry entry, entry_of(*std::move(message)));
      CAY_CHECK(writer.add(entry));
    }
  }

  // Runs `work` to its end, or to the end of the connection.
  template <class T>
  Result<T> run(asio::io_context& loop, Task<T> work) {
    std::optional<Result<T>> out;
    asio::co_spawn(loop, store_result(std::move(work), out),
                   [&](const std::exception_ptr& failure) {
                     if (failure)
                       out = Error{Code::kInternal, "images_unavailable", "the work failed", 0};
                     loop.stop();
                   });
    asio::co_spawn(loop, end_with_daemon(), [](const std::exception_ptr&) {});
    loop.run();
    if (!out) return Error{Code::kInternal, "images_unavailable", "the work came to no end", 0};
    return *std::move(out);
  }

  template <class T>
  static asio::awaitable<void> store_result(Task<T> work, std::optional<Result<T>>& out) {
    auto got = co_await std::move(work);
    out.emplace(std::move(got));
  }

  // Nobody waits for it any more. The bytes that came stay.
  asio::awaitable<void> end_with_daemon() {
    for (;;) {
      co_await sleep_for(kLookEvery);
      if (socket_.has_ended()) ::_exit(0);
    }
  }

  Result<FetchedImage> read(const std::string& payload) {
    const auto request = wire::decode<wire::ReadArchive>(payload);
    if (!request) return unknown();
    store_.belong_to(request->owner);
    CAY_TRY(const Platform platform, parse_platform(""));
    CAY_TRY(UniqueFd spool, store_.temporary());
    for (;;) {
      const auto frame = socket_.receive();
      if (!frame) return Error{Code::kCancelled, "cancelled", "the daemon is gone", 0};
      if (frame->type == number(wire::Type::kEof)) break;
      const auto data = frame->type == number(wire::Type::kData) ? wire::decode_data(frame->payload)
                                                                 : std::nullopt;
      if (!data) return unknown();
      CAY_CHECK(write_all(spool.get(), data->bytes));
    }
    if (request->root) return read_root_archive(std::move(spool), told());
    return read_archive(std::move(spool), store_, platform, told());
  }

  // false: the conversation is over.
  bool send_layer(const FetchedImage& image, std::size_t index) {
    const LayerFile& file = image.layers[index];
    LayerReader reader(bytes_of(file.file.get()), image.facts.layers[index].diff_id);
    std::uint64_t offset = 0;
    for (;;) {
      auto event = reader.next();
      if (!event) {
        // A broken blob in the store would break the next pull as well.
        if (!file.blob.empty()) store_.remove(file.blob);
        fail(event.error());
        return false;
      }
      if (!*event) break;
      if (const auto* entry = std::get_if<core::LayerEntry>(&**event)) {
        offset = 0;
        if (!socket_.send(number(wire::Type::kLayerEntry), wire::encode(message_of(*entry))))
          return false;
        continue;
      }
      const auto& bytes = std::get<Bytes>(**event);
      wire::Data data;
      data.offset = offset;
      data.bytes = bytes;
      offset += bytes.size();
      if (!socket_.send(number(wire::Type::kData), wire::encode_data(data))) return false;
    }
    if (reader.devices() > 0 && !send_note(reader)) return false;
    return socket_.send(number(wire::Type::kEof), {});
  }

  bool send_note(const LayerReader& reader) {
    devices_ += reader.devices();
    for (const std::string& name : reader.device_names()) {
      if (device_names_.size() < kNamedDevices) device_names_.push_back(name);
    }
    wire::ProgressMsg note;
    note.text = std::to_string(devices_) +
                (devices_ == 1 ? " device node was" : " device nodes were") +
                " left out, for a sandbox has its own /dev:";
    for (const std::string& name : device_names_) {
      note.text += (name == device_names_.front() ? " " : ", ") + name.substr(0, kLongestName);
    }
    if (devices_ > device_names_.size()) note.text += ", ...";
    return socket_.send(number(wire::ImageType::kNote), wire::encode(note));
  }

  FrameSocket socket_;
  BlobStore store_;
  const Settings& settings_;
  // Those of the layers that were sent.
  std::uint64_t devices_ = 0;
  std::vector<std::string> device_names_;
};

}  // namespace

void converse(UniqueFd socket, BlobStore store, const Settings& settings) {
  Conversation(std::move(socket), std::move(store), settings).run();
}

}  // namespace cay::image
