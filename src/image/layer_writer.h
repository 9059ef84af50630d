// LayerWriter: a layer out of its entries: a tar that gzip compresses, in a file, and its digests.
// Times may lose their fraction of a second.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "archive/compressor.h"
#include "archive/tar_writer.h"
#include "base/unique_fd.h"
#include "core/ports/layers.h"
#include "image/digest.h"

namespace cay::image {

struct WrittenLayer {
  UniqueFd file;
  std::uint64_t size = 0;  // compressed
  std::string digest, diff_id;
};

class LayerWriter {
 public:
  // Writes to `file`.
  static Result<LayerWriter> create(UniqueFd file);

  Result<void> add(const core::LayerEntry& entry);
  Result<void> add(std::string_view bytes);  // of the file whose entry came last
  Result<WrittenLayer> finish();

 private:
  LayerWriter() = default;
  Result<void> pass_on();
  Result<void> store();

  WrittenLayer out_;
  std::unique_ptr<archive::TarWriter> tar_;
  std::unique_ptr<archive::Compressor> gzip_;
  Digest plain_, packed_;
};

}  // namespace cay::image
