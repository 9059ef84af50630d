// FakeImages: registries in memory. A test puts images in, and looks at what was pushed.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "core/ports/images.h"
#include "core/testing/fake_layers.h"

namespace cay::core::testing {

class FakeImages : public Images {
 public:
  explicit FakeImages(asio::any_io_executor loop) : released_(std::move(loop)) {}

  struct Image {
    ImageFacts facts;
    std::vector<std::vector<LayerEvent>> layers;
    std::string note{};
  };
  // An image of files, one in each layer: {{"a", "1"}} is the file "a" with the content "1". Layers
  // of equal files have equal digests.
  static Image image_of(const std::vector<std::pair<std::string, std::string>>& files);

  std::map<std::string, Image> images;  // by the reference of the request
  std::optional<Image> archive;         // what every archive contains; none: it is no image
  std::vector<ArchiveKind> kinds;       // of every archive
  std::vector<std::string> owners;      // likewise
  std::optional<Error> pull_error;
  std::optional<Error> layer_error;  // comes at the end of each layer
  bool hold = false;                 // pulls wait for release()
  std::vector<PullRequest> pulls;    // every request
  int layers_read = 0;
  struct PushedImage {
    PushRequest request;
    std::vector<std::vector<LayerEvent>> layers;
  };
  std::vector<PushedImage> pushes;
  std::optional<Error> push_error;

  void release() {
    hold = false;
    released_.notify();
  }

  Task<std::unique_ptr<OpenImage>> pull(PullRequest request, Told told) override;
  Task<std::unique_ptr<OpenImage>> read(std::unique_ptr<ByteSource> archive, ArchiveKind kind,
                                        std::string owner, Told told) override;
  Task<std::string> push(PushRequest request, std::vector<std::unique_ptr<LayerSource>> layers,
                         Told told) override;
  // Returns the text "archive of NAME", and keeps the request as a push.
  Task<std::unique_ptr<ByteSource>> write_archive(
      PushRequest request, std::vector<std::unique_ptr<LayerSource>> layers) override;

 private:
  Event released_;
};

}  // namespace cay::core::testing
