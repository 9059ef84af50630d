#include "runtime/keeper/keeper_layers.h"

#include "runtime/keeper/file_calls.h"

namespace cay::runtime {

Task<void> KeeperLayers::write_layer(std::unique_ptr<core::LayerSource> entries) {
  const FileAs root;
  auto op = file_op(wire::FileVerb::kWriteLayer, "/", root);
  auto done = co_await layer_write(line_, std::move(op), std::move(entries));
  co_return done;
}

Task<std::unique_ptr<core::LayerSource>> KeeperLayers::read_layer(std::string path) {
  const FileAs root;
  auto op = file_op(wire::FileVerb::kReadLayer, path, root);
  auto layer = co_await layer_read(line_, std::move(op));
  co_return std::move(layer);
}

}  // namespace cay::runtime
