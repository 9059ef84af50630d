// File work through the keeper: each call is one FileOp on a channel of its own. Content streams
// under credit in both directions; nothing holds a whole file.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

// Entries of one list, glob or grep answer; more is kExhausted (listing_too_large).
inline constexpr std::size_t kMaxEntries = 200'000;
inline constexpr std::size_t kMaxEntryBytes = 64 << 20;

wire::FileOp file_op(wire::FileVerb verb, const std::string& path, const FileAs& as);

Task<FileInfo> file_stat(std::shared_ptr<PersistentLink> line, wire::FileOp op);
Task<void> file_change(std::shared_ptr<PersistentLink> line, wire::FileOp op, bool repeatable);
Task<core::FileStream> file_read(std::shared_ptr<PersistentLink> line, wire::FileOp op);
Task<FileInfo> file_write(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                          std::unique_ptr<ByteSource> data);
Task<GlobResult> file_entries(std::shared_ptr<PersistentLink> line,
                              wire::FileOp op);  // list and glob
Task<GrepResult> file_grep(std::shared_ptr<PersistentLink> line, wire::FileOp op);
Task<std::unique_ptr<core::TreeSource>> tree_read(std::shared_ptr<PersistentLink> line,
                                                  wire::FileOp op);
Task<void> tree_write(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                      std::unique_ptr<core::TreeSource> tree);
Task<std::unique_ptr<core::LayerSource>> layer_read(std::shared_ptr<PersistentLink> line,
                                                    wire::FileOp op);
Task<void> layer_write(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                       std::unique_ptr<core::LayerSource> entries);

}  // namespace cay::runtime
