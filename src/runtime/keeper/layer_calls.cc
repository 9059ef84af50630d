// Layers through the keeper, both ways (file_calls.h).
#include "runtime/keeper/convert.h"
#include "runtime/keeper/entry_reader.h"
#include "runtime/keeper/file_calls.h"
#include "runtime/keeper/file_sender.h"
#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {
namespace {

Result<ReadEntry<core::LayerEntry>> read_layer_entry(const wire::Frame& frame) {
  CAY_TRY(const auto message,
          decode_as<wire::LayerEntryMsg>(frame, wire::Type::kLayerEntry, "a layer's entry"));
  auto entry = to_model(message);
  if (!entry) return unexpected_frame(frame, "an entry of a known kind");
  const std::uint64_t content = entry->kind == core::EntryKind::kFile ? entry->size : 0;
  return ReadEntry<core::LayerEntry>{*std::move(entry), content};
}

Error bad_layer(const std::string& path, const std::string& why) {
  return Error{Code::kInvalidArgument, "bad_layer", "the layer's entry \"" + path + "\": " + why,
               0};
}

}  // namespace

Task<std::unique_ptr<core::LayerSource>> layer_read(std::shared_ptr<PersistentLink> line,
                                                    wire::FileOp op) {
  auto layer = co_await EntryReader<core::LayerSource, core::LayerEntry>::open(
      std::move(line), std::move(op), read_layer_entry);
  co_return std::move(layer);
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
      if (count > left) co_return bad_layer(path, "it has more content than the size in its entry");
      CAY_CO_CHECK(co_await sender.send(offset, std::move(bytes)));
      offset += count;
      left -= count;
      continue;
    }
    if (left > 0) co_return bad_layer(path, "it has less content than the size in its entry");
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
