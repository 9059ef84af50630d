// BlobStore: fetched blobs, by their owner and digest, in DATA/images/blobs. A blob that is not
// whole yet is OWNER-DIGEST.part there, and the next pull continues it.
//
// A digest is no secret: manifests have it. So a tenant that names the digest of another tenant's
// blob must not get its bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "archive/tar_reader.h"
#include "async/task.h"
#include "base/unique_fd.h"
#include "image/digest.h"

namespace cay::image {

// A blob that is being fetched. Its file is locked: no other process writes it meanwhile.
struct BlobPart {
  UniqueFd file;           // not valid: the blob is whole already
  std::uint64_t size = 0;  // so much is there
  Digest digest;           // of that
};

class BlobStore {
 public:
  // `directory`: DATA/images, open. It outlives the store.
  static Result<BlobStore> open(int directory);
  // Makes it find and keep the blobs of this tenant alone.
  void belong_to(std::string_view owner);

  // Returns the blob, or an invalid descriptor if it is not there with that size.
  Result<UniqueFd> find(std::string_view digest, std::uint64_t size) const;
  void remove(std::string_view digest) const;

  // Waits while another process fetches the same blob.
  Task<BlobPart> begin(std::string digest, std::uint64_t size) const;
  // Forgets what is there of it.
  Result<BlobPart> begin_again(std::string_view digest) const;
  Result<void> add(BlobPart& part, std::string_view bytes) const;
  // Fails kInvalidArgument digest_mismatch, and forgets it.
  Result<void> finish(BlobPart part, std::string_view digest) const;

  // A file that has no name any more, for reading and writing.
  Result<UniqueFd> temporary() const;

  // Removes the oldest blobs until at most `bytes` are left. Open ones stay readable.
  void trim(std::uint64_t bytes) const;

 private:
  explicit BlobStore(UniqueFd blobs) : blobs_(std::move(blobs)) { belong_to(""); }
  std::string name_of(std::string_view digest) const;
  std::string part_of(std::string_view digest) const;
  Result<UniqueFd> open_part(std::string_view digest) const;
  bool is_named(std::string_view digest, int file) const;

  UniqueFd blobs_;
  std::string owner_{};  // as it begins its files' names
};

// Writes all of it. Fails kExhausted disk_full, or with the errno.
Result<void> write_all(int file, std::string_view bytes);
// The bytes of a file from its beginning, whatever its position is.
archive::TarPull bytes_of(int file);

}  // namespace cay::image
