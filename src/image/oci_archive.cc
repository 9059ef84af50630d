#include "image/oci_archive.h"

#include <algorithm>
#include <memory>

#include "archive/tar_writer.h"
#include "codec/json.h"
#include "image/blob_store.h"
#include "image/json_fields.h"
#include "image/written_image.h"

namespace cay::image {
namespace {

constexpr std::uint32_t kFileMode = 0644, kDirectoryMode = 0755;

class LayoutWriter {
 public:
  LayoutWriter(std::unique_ptr<archive::TarWriter> tar,
               const std::function<Result<void>(std::string_view)>& out)
      : tar_(std::move(tar)), out_(out) {}

  Result<void> directory(const std::string& name) {
    archive::TarHeader header;
    header.name = name;
    header.kind = archive::TarEntry::Kind::kDirectory;
    header.mode = kDirectoryMode;
    CAY_CHECK(tar_->add(header));
    return pass_on();
  }

  Result<void> file(const std::string& name, std::string_view content) {
    CAY_CHECK(begin(name, content.size()));
    CAY_CHECK(tar_->write(content));
    return pass_on();
  }

  Result<void> blob(const std::string& text) { return file(path_of(digest_of(text)), text); }

  Result<void> layer(const WrittenLayer& layer) {
    CAY_CHECK(begin(path_of(layer.digest), layer.size));
    auto pull = bytes_of(layer.file.get());
    for (;;) {
      CAY_TRY(const std::string piece, pull());
      if (piece.empty()) return pass_on();
      CAY_CHECK(tar_->write(piece));
      CAY_CHECK(pass_on());
    }
  }

  Result<void> finish() {
    CAY_CHECK(tar_->close());
    return pass_on();
  }

 private:
  static std::string path_of(const std::string& digest) { return "blobs/sha256/" + hex_of(digest); }

  Result<void> begin(const std::string& name, std::uint64_t size) {
    archive::TarHeader header;
    header.name = name;
    header.size = size;
    header.mode = kFileMode;
    CAY_CHECK(tar_->add(header));
    return pass_on();
  }

  Result<void> pass_on() {
    const std::string bytes = tar_->take();
    return bytes.empty() ? Result<void>() : out_(bytes);
  }

  std::unique_ptr<archive::TarWriter> tar_;
  const std::function<Result<void>(std::string_view)>& out_;
};

std::string layout_index(const std::string& name, const std::string& manifest) {
  json::object entry;
  entry["mediaType"] = kOfManifest;
  entry["digest"] = digest_of(manifest);
  entry["size"] = manifest.size();
  entry["annotations"] = json::object{{"org.opencontainers.image.ref.name", name}};
  json::object index;
  index["schemaVersion"] = 2;
  index["mediaType"] = "application/vnd.oci.image.index.v1+json";
  index["manifests"] = json::array{std::move(entry)};
  return codec::write(index);
}

}  // namespace

Result<void> write_oci_archive(const std::string& name, const ImageConfig& config,
                               const std::vector<WrittenLayer>& layers,
                               const std::function<Result<void>(std::string_view)>& out) {
  CAY_TRY(const WrittenImage image, written_image(config, layers));
  CAY_TRY(auto tar, archive::TarWriter::into_memory(archive::TarWriter::Blocks::kAsTheyCome));
  LayoutWriter writer(std::move(tar), out);
  CAY_CHECK(writer.file("oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
  CAY_CHECK(writer.file("index.json", layout_index(name, image.manifest)));
  CAY_CHECK(writer.directory("blobs/"));
  CAY_CHECK(writer.directory("blobs/sha256/"));
  CAY_CHECK(writer.blob(image.manifest));
  CAY_CHECK(writer.blob(image.config));
  // An archive has a blob once, also if two layers are equal.
  for (auto layer = layers.begin(); layer != layers.end(); ++layer) {
    const bool is_there = std::any_of(layers.begin(), layer, [&](const WrittenLayer& before) {
      return before.digest == layer->digest;
    });
    if (is_there) continue;
    CAY_CHECK(writer.layer(*layer));
  }
  return writer.finish();
}

}  // namespace cay::image
