// Directory trees through the keeper, both ways (file_calls.h).
#include "runtime/keeper/convert.h"
#include "runtime/keeper/entry_reader.h"
#include "runtime/keeper/file_calls.h"
#include "runtime/keeper/file_sender.h"
#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {
namespace {

Result<ReadEntry<core::TreeEntry>> read_tree_entry(const wire::Frame& frame) {
  CAY_TRY(const auto info,
          decode_as<wire::FileInfoMsg>(frame, wire::Type::kFileInfo, "a tree entry"));
  core::TreeEntry entry{.info = to_model(info)};
  const std::uint64_t content = entry.info.kind == FileKind::kFile ? entry.info.size : 0;
  return ReadEntry<core::TreeEntry>{std::move(entry), content};
}

Error short_tree() {
  return Error{Code::kInvalidArgument, "bad_tree",
               "the size of a file in the tree differs from the size in its entry", 0};
}

}  // namespace

Task<std::unique_ptr<core::TreeSource>> tree_read(std::shared_ptr<PersistentLink> line,
                                                  wire::FileOp op) {
  auto tree = co_await EntryReader<core::TreeSource, core::TreeEntry>::open(
      std::move(line), std::move(op), read_tree_entry);
  co_return std::move(tree);
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
