// LayerReader: a layer of an image, entry by entry, out of its compressed tar.
//
// The bytes are a stranger's. Names stay below the root, sizes are as their heads declare, and the
// end comes only when the whole tar had its digest. It blocks as its source does.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "archive/decompressor.h"
#include "archive/tar_reader.h"
#include "core/ports/layers.h"
#include "image/digest.h"

namespace cay::image {

inline constexpr std::size_t kNamedDevices = 3;

struct LayerLimits {
  std::uint64_t bytes = std::uint64_t{64} << 30;  // of the plain tar
  std::uint64_t entries = 4'000'000;
  std::size_t header_bytes = 1 << 20;  // of one entry's headers
};

class LayerReader {
 public:
  // `pull` gives the compressed bytes. `diff_id`: the digest of the plain tar; empty: it has none.
  LayerReader(archive::TarPull pull, std::string diff_id, LayerLimits limits = {});

  // Returns the next event; nullopt: the end. Fails kInvalidArgument: bad_layer (no tar, an
  // absolute path or "..", broken compression, more than the limits), digest_mismatch.
  Result<std::optional<core::LayerEvent>> next();

  // Device nodes are left out: nobody can make them in a user namespace.
  std::uint64_t devices() const { return devices_; }
  // The paths of the first few of them.
  const std::vector<std::string>& device_names() const { return device_names_; }
  // The plain bytes so far.
  std::uint64_t bytes() const { return bytes_; }
  // The digest of the plain tar, after the end.
  const std::string& digest() const { return digest_text_; }

 private:
  Result<std::string> plain();
  Result<void> finish();
  Result<std::optional<core::LayerEntry>> entry();
  Result<std::optional<core::LayerEntry>> whiteout(const std::string& path);
  Result<void> put_attributes(const archive::TarEntry& from, core::LayerEntry& to) const;
  Result<std::optional<core::LayerEvent>> content();
  Result<void> note_parents(const std::string& path);
  Error wrong() const;

  archive::Decompressor plain_;
  std::string diff_id_;
  LayerLimits limits_;
  Digest digest_;
  std::string digest_text_;
  std::uint64_t bytes_ = 0, entries_ = 0, devices_ = 0;
  std::vector<std::string> device_names_;
  std::uint64_t header_from_ = 0;  // where the headers of the entry begin
  bool in_header_ = false, input_ended_ = false, ended_ = false;
  // These four are of the file whose bytes come now.
  std::uint64_t left_ = 0, offset_ = 0;
  std::string_view block_;
  std::uint64_t hole_ = 0;  // zeros that come before the block
  // Hashes of the directories that have entries of this layer.
  std::unordered_set<std::size_t> parents_;
  archive::TarReader tar_;  // last: it pulls from the others
};

}  // namespace cay::image
