// A file operation in its helper: inside the sandbox, as the guest user, with blocking calls. All
// results go through one socket to the keeper.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "keeper/file_channel.h"
#include "wire/messages.h"

namespace cay::keeper {

// `data`: the wire::FileOp. `layer_root_fd`: for write_layer(), else -1. The helper's exit code;
// never throws.
//
// After an operation that may be followed it waits, until the keeper hangs up or sends another one
// (kFileOp). It responds kCancel, before it has done anything, to one that needs a new helper.
int run_file_task(int fd, int layer_root_fd, void* data);

// Whether its helper may do another one afterwards: it has no working directory, and is none of the
// large ones.
bool may_be_followed(const wire::FileOp& op);

// The verbs. An error ends the operation. On success the last frame has been sent.
Result<void> stat_file(FileChannel& channel, const wire::FileOp& op);
Result<void> read_file(FileChannel& channel, const wire::FileOp& op);
Result<void> write_file(FileChannel& channel, const wire::FileOp& op);
Result<void> list_directory(FileChannel& channel, const wire::FileOp& op);
Result<void> make_directory(FileChannel& channel, const wire::FileOp& op);
Result<void> remove_path(FileChannel& channel, const wire::FileOp& op);
Result<void> rename_path(FileChannel& channel, const wire::FileOp& op);
Result<void> glob_files(FileChannel& channel, const wire::FileOp& op);
Result<void> grep_files(FileChannel& channel, const wire::FileOp& op);
Result<void> read_tree(FileChannel& channel, const wire::FileOp& op);
Result<void> write_tree(FileChannel& channel, const wire::FileOp& op);
// `root_fd`: the root that the layer is written to, O_PATH.
Result<void> write_layer(FileChannel& channel, int root_fd);
Result<void> read_layer(FileChannel& channel, const wire::FileOp& op);
Result<void> change_mode(FileChannel& channel, const wire::FileOp& op);
Result<void> change_owner(FileChannel& channel, const wire::FileOp& op);
Result<void> copy_path(FileChannel& channel, const wire::FileOp& op);
Result<void> move_path(FileChannel& channel, const wire::FileOp& op);
Result<void> replace_in_files(FileChannel& channel, const wire::FileOp& op);
// Returns only on an error: the keeper hangs up when nobody wants the events any more.
Result<void> watch_directory(FileChannel& channel, const wire::FileOp& op);

}  // namespace cay::keeper
