#include "image/archive_image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "archive/decompressor.h"
#include "archive/tar_parser.h"
#include "archive/tar_reader.h"
#include "codec/json.h"
#include "image/image_config.h"
#include "image/json_fields.h"
#include "image/layer_reader.h"
#include "image/manifest.h"
#include "image/reference.h"

namespace cay::image {
namespace {

constexpr std::string_view kBlobs = "blobs/sha256/";
constexpr std::uint64_t kMostArchive = std::uint64_t{64} << 30;
constexpr std::size_t kHexDigits = 64;

Error bad_archive(const std::string& why) {
  return {Code::kInvalidArgument, "bad_image", "the archive cannot be used: " + why, 0};
}

// One pass over the members of an archive.
class Pass {
 public:
  explicit Pass(int file)
      : plain_(bytes_of(file)), tar_([this]() -> Result<std::string> {
          auto piece = plain_.next();
          if (piece && (bytes_ += piece->size()) > kMostArchive)
            return bad_archive("it is larger than 64 GiB");
          return piece;
        }) {}

  // Moves to the next member; false: there is none.
  Result<bool> next() {
    const auto step = tar_.next();
    if (step == archive::TarReader::Step::kEnd) return false;
    if (step != archive::TarReader::Step::kDone &&
        step != archive::TarReader::Step::kDoneButCharset)
      return broken();
    auto path = archive::safe_entry_path(entry().name().value_or(""), archive::TarLimits{});
    // A root file system may have such a name: its layer is judged later.
    name_ = path ? *std::move(path) : std::string();
    return true;
  }
  const std::string& name() const { return name_; }
  archive::TarEntry entry() const { return tar_.entry(); }
  bool is_file() const {
    return entry().kind() == archive::TarEntry::Kind::kFile && !entry().is_hard_link() &&
           !entry().is_sparse();
  }

  Result<void> content(const std::function<Result<void>(std::string_view)>& to) {
    for (;;) {
      archive::TarReader::Block block;
      const auto step = tar_.block(block);
      if (step == archive::TarReader::Step::kEnd) return {};
      if (step != archive::TarReader::Step::kDone) return broken();
      CAY_CHECK(to(block.bytes));
    }
  }

  // A small member.
  Result<std::string> text() {
    std::string out;
    CAY_CHECK(content([&](std::string_view bytes) -> Result<void> {
      if (out.size() + bytes.size() > kMostManifestBytes)
        return bad_archive(name_ + " is larger than 4 MiB");
      out += bytes;
      return {};
    }));
    return out;
  }

 private:
  Error broken() const {
    if (tar_.input_error() && tar_.input_error()->reason != "bad_compression")
      return *tar_.input_error();
    return bad_archive("it is no tar archive, or is cut off: " + tar_.why());
  }

  archive::Decompressor plain_;
  std::uint64_t bytes_ = 0;
  archive::TarReader tar_;
  std::string name_;
};

std::uint64_t size_of_file(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// The name and the tag, if an archive has them in a form that we know.
void put_name(core::ImageFacts& facts, const std::string& text) {
  if (text.empty()) return;
  const auto reference = parse_reference(text);
  if (!reference) return;
  // An OCI layout may name the tag alone.
  const bool is_tag = text.find_first_of("/:") == std::string::npos;
  facts.tag = is_tag ? text : reference->tag;
  if (!is_tag) facts.name = reference->name();
}

// The layers are files, lowest first.
Result<FetchedImage> put_together(const std::string& config, std::vector<LayerFile> layers,
                                  std::string digest, const std::string& name) {
  CAY_TRY(ImageDescription described, parse_image_config(config));
  if (described.diff_ids.size() != layers.size())
    return bad_archive("its configuration names another number of layers");
  FetchedImage out;
  put_name(out.facts, name);
  out.facts.digest = std::move(digest);
  out.facts.config = std::move(described.config);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    out.facts.layers.push_back({described.diff_ids[i], size_of_file(layers[i].file.get())});
  }
  out.layers = std::move(layers);
  return out;
}

Result<std::string> small_blob(const BlobStore& store, const Descriptor& blob) {
  if (blob.size > kMostManifestBytes) return bad_archive("a manifest in it is over 4 MiB");
  CAY_TRY(const UniqueFd file, store.find(blob.digest, blob.size));
  if (!file) return bad_archive("it lacks the blob " + blob.digest);
  std::string out;
  auto pull = bytes_of(file.get());
  for (;;) {
    CAY_TRY(const std::string piece, pull());
    if (piece.empty()) break;
    out += piece;
  }
  if (digest_of(out) != blob.digest) {
    store.remove(blob.digest);
    return Error{Code::kInvalidArgument, "digest_mismatch",
                 "the blob " + blob.digest + " has another digest", 0};
  }
  return out;
}

Result<void> keep_blobs(int file, const BlobStore& store, const core::Told& told) {
  Pass pass(file);
  for (;;) {
    CAY_TRY(const bool more, pass.next());
    if (!more) return {};
    const std::string name = pass.name();
    if (!name.starts_with(kBlobs) || !pass.is_file()) continue;
    const std::string digest = "sha256:" + name.substr(kBlobs.size());
    if (!is_digest(digest)) return bad_archive("a blob in it has no digest for a name");
    CAY_TRY(const UniqueFd there,
            store.find(digest,
                       static_cast<std::uint64_t>(std::max<std::int64_t>(0, pass.entry().size()))));
    if (there) continue;
    told("reading " + digest.substr(0, digest.size() - kHexDigits + 12));
    CAY_TRY(BlobPart part, store.begin_again(digest));
    CAY_CHECK(pass.content([&](std::string_view bytes) { return store.add(part, bytes); }));
    CAY_CHECK(store.finish(std::move(part), digest));
  }
}

Result<FetchedImage> read_oci(int file, const std::string& index_text, const BlobStore& store,
                              const Platform& platform, const core::Told& told) {
  CAY_CHECK(keep_blobs(file, store, told));
  std::string text = index_text, digest = digest_of(index_text), name;
  for (int indexes = 0; indexes <= kMostIndexes; ++indexes) {
    CAY_TRY(auto parsed, parse_manifest(text));
    if (auto* manifest = std::get_if<Manifest>(&parsed)) {
      CAY_TRY(const std::string config, small_blob(store, manifest->config));
      std::vector<LayerFile> layers;
      for (const Descriptor& layer : manifest->layers) {
        LayerFile one;
        CAY_TRY(one.file, store.find(layer.digest, layer.size));
        if (!one.file) return bad_archive("it lacks the layer " + layer.digest);
        one.blob = layer.digest;
        layers.push_back(std::move(one));
      }
      return put_together(config, std::move(layers), digest, name);
    }
    const Index& index = std::get<Index>(parsed);
    if (index.manifests.empty()) return bad_archive("its index is empty");
    Descriptor next = index.manifests.front().manifest;
    if (index.manifests.size() > 1) {
      CAY_TRY(next, choose(index, platform));
    }
    for (const IndexEntry& entry : index.manifests) {
      if (entry.manifest.digest == next.digest && name.empty()) name = entry.name;
    }
    CAY_TRY(text, small_blob(store, next));
    digest = next.digest;
  }
  return Error{Code::kInvalidArgument, "bad_image",
               "the archive's indexes lead to more indexes, and to no manifest", 0};
}

struct Saved {
  std::string config, name;
  std::vector<std::string> layers;
};

Result<Saved> parse_saved(const std::string& text) {
  auto parsed = codec::parse(text);
  if (!parsed) return bad_archive("its manifest.json: " + parsed.error().message);
  const json::array* images = parsed->if_array();
  const json::object* first =
      images == nullptr || images->empty() ? nullptr : images->front().if_object();
  const json::array* layers = first == nullptr ? nullptr : array_in(*first, "Layers");
  if (layers == nullptr || layers->size() > kMostLayers)
    return bad_archive("its manifest.json names no layers, or more than 1000");
  Saved out;
  out.config = string_in(*first, "Config");
  if (const json::array* tags = array_in(*first, "RepoTags"); tags != nullptr && !tags->empty()) {
    if (const json::string* tag = tags->front().if_string()) out.name = std::string(*tag);
  }
  for (const json::value& layer : *layers) {
    const json::string* path = layer.if_string();
    if (path == nullptr) return bad_archive("a layer in its manifest.json is no path");
    out.layers.emplace_back(*path);
  }
  return out;
}

// Older versions write a layer that two images share once, and a symbolic link for the other.
std::string linked(const std::string& from, const std::string& target) {
  std::string path = from.substr(0, from.find('/'));
  if (!target.starts_with("../")) return path + "/" + target;
  return target.substr(3);
}

Result<FetchedImage> read_saved(int file, const std::string& manifest, const BlobStore& store,
                                const core::Told& told) {
  CAY_TRY(const Saved saved, parse_saved(manifest));
  const std::set<std::string> wanted(saved.layers.begin(), saved.layers.end());
  std::map<std::string, UniqueFd> files;
  std::map<std::string, std::string> links;
  std::string config;
  Pass pass(file);
  for (;;) {
    CAY_TRY(const bool more, pass.next());
    if (!more) break;
    const std::string name = pass.name();
    if (name == saved.config && pass.is_file()) {
      CAY_TRY(config, pass.text());
    } else if (pass.entry().kind() == archive::TarEntry::Kind::kSymlink && wanted.contains(name)) {
      links[name] = linked(name, pass.entry().link_target());
    } else if (pass.is_file() && (wanted.contains(name) || name.ends_with("/layer.tar"))) {
      told("reading layer " + std::to_string(files.size() + 1) + " of " +
           std::to_string(saved.layers.size()));
      CAY_TRY(UniqueFd to, store.temporary());
      CAY_CHECK(pass.content([&](std::string_view bytes) { return write_all(to.get(), bytes); }));
      files[name] = std::move(to);
    }
  }
  std::vector<LayerFile> layers;
  for (const std::string& path : saved.layers) {
    const auto link = links.find(path);
    const auto found = files.find(link == links.end() ? path : link->second);
    if (found == files.end()) return bad_archive("it lacks the layer " + path);
    LayerFile one;
    one.file = UniqueFd(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 3));
    layers.push_back(std::move(one));
  }
  return put_together(config, std::move(layers), digest_of(config), saved.name);
}

}  // namespace

Result<FetchedImage> read_root_archive(UniqueFd file, const core::Told& told) {
  told("reading the archive");
  LayerReader reader(bytes_of(file.get()), "");
  for (;;) {
    CAY_TRY(const auto event, reader.next());
    if (!event) break;
  }
  FetchedImage out;
  out.facts.digest = reader.digest();
  out.facts.layers.push_back({reader.digest(), size_of_file(file.get())});
  LayerFile layer;
  layer.file = std::move(file);
  out.layers.push_back(std::move(layer));
  return out;
}

Result<FetchedImage> read_archive(UniqueFd file, const BlobStore& store, const Platform& platform,
                                  const core::Told& told) {
  std::optional<std::string> index, manifest;
  bool is_layout = false;
  {
    Pass pass(file.get());
    for (;;) {
      CAY_TRY(const bool more, pass.next());
      if (!more) break;
      if (!pass.is_file()) continue;
      if (pass.name() == "oci-layout") is_layout = true;
      if (pass.name() == "index.json") {
        CAY_TRY(index, pass.text());
      } else if (pass.name() == "manifest.json") {
        CAY_TRY(manifest, pass.text());
      }
    }
  }
  if (is_layout && index) return read_oci(file.get(), *index, store, platform, told);
  if (manifest) return read_saved(file.get(), *manifest, store, told);
  return read_root_archive(std::move(file), told);
}

}  // namespace cay::image
