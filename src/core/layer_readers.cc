#include "core/layer_readers.h"

namespace cay::core {
namespace {

std::string mount_of(std::size_t index) { return "/layers/" + std::to_string(index); }

class LayerOnDisk : public LayerSource {
 public:
  LayerOnDisk(std::shared_ptr<LiveSandbox> live, std::string path)
      : live_(std::move(live)), path_(std::move(path)) {}

  Task<std::optional<LayerEvent>> next() override {
    if (!inner_) {
      auto opening = live_->read_layer(path_);
      CAY_CO_TRY(inner_, co_await std::move(opening));
    }
    auto event = co_await inner_->next();
    co_return event;
  }

 private:
  std::shared_ptr<LiveSandbox> live_;
  const std::string path_;
  std::unique_ptr<LayerSource> inner_;
};

}  // namespace

std::vector<DiskMount> mounts_of(const std::vector<LayerId>& stack) {
  std::vector<DiskMount> out;
  for (std::size_t i = 0; i < stack.size(); ++i)
    out.push_back({.path = mount_of(i), .layer = stack[i], .read_only = true});
  return out;
}

std::vector<std::unique_ptr<LayerSource>> readers_of(const std::shared_ptr<LiveSandbox>& live,
                                                     std::size_t layers) {
  std::vector<std::unique_ptr<LayerSource>> out;
  for (std::size_t i = 0; i < layers; ++i)
    out.push_back(std::make_unique<LayerOnDisk>(live, mount_of(i)));
  return out;
}

}  // namespace cay::core
