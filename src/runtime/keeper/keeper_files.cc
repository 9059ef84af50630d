#include "runtime/keeper/keeper_files.h"

#include <utility>

#include "runtime/keeper/file_calls.h"
#include "runtime/keeper/keeper_file_changes.h"
#include "wire/keeper_features.h"

namespace cay::runtime {

Task<FileInfo> KeeperFiles::stat(std::string path, FileAs as, bool follow) {
  auto op = file_op(wire::FileVerb::kStat, path, as);
  op.follow = follow;
  auto info = co_await file_stat(line_, std::move(op));
  co_return info;
}

Task<core::FileStream> KeeperFiles::read(std::string path, FileAs as, core::ReadRange range) {
  auto op = file_op(wire::FileVerb::kRead, path, as);
  op.offset = range.offset;
  op.length = range.length;
  auto stream = co_await file_read(line_, std::move(op));
  co_return std::move(stream);
}

Task<FileInfo> KeeperFiles::write(std::string path, core::WriteOptions options,
                                  std::unique_ptr<ByteSource> data) {
  auto op = file_op(wire::FileVerb::kWrite, path, options.as);
  op.mode = options.mode;
  op.parents = options.create_parents;
  op.keep_mode = options.keep_mode;
  op.exclusive = options.exclusive;
  if (options.exclusive) {  // an older keeper would replace the file
    CAY_CO_CHECK(co_await need_feature(line_, wire::keeper_feature::kFileChanges));
  }
  auto info = co_await file_write(line_, std::move(op), std::move(data));
  co_return info;
}

Task<std::vector<FileInfo>> KeeperFiles::list(std::string path, FileAs as) {
  auto op = file_op(wire::FileVerb::kList, path, as);
  CAY_CO_TRY(auto entries, co_await file_entries(line_, std::move(op)));
  if (entries.truncated) {
    co_return Error{Code::kExhausted, "listing_too_large",
                    "the directory could not be listed whole: " + path, 0};
  }
  co_return std::move(entries.matches);
}

Task<void> KeeperFiles::make_directory(std::string path, FileAs as, std::uint32_t mode) {
  auto op = file_op(wire::FileVerb::kMkdir, path, as);
  op.mode = mode;
  op.parents = true;
  auto done = co_await file_change(line_, std::move(op), true);
  co_return done;
}

Task<void> KeeperFiles::remove(std::string path, FileAs as, bool recursive) {
  auto op = file_op(wire::FileVerb::kRemove, path, as);
  op.recursive = recursive;
  auto done = co_await file_change(line_, std::move(op), false);
  co_return done;
}

Task<void> KeeperFiles::rename(std::string from, std::string to, FileAs as) {
  auto op = file_op(wire::FileVerb::kRename, from, as);
  op.to = std::move(to);
  auto done = co_await file_change(line_, std::move(op), false);
  co_return done;
}

Task<GlobResult> KeeperFiles::glob(std::string root, std::string pattern, FileAs as,
                                   std::uint32_t limit) {
  auto op = file_op(wire::FileVerb::kGlob, root, as);
  op.pattern = std::move(pattern);
  op.limit = limit;
  auto result = co_await file_entries(line_, std::move(op));
  co_return std::move(result);
}

Task<GrepResult> KeeperFiles::grep(std::string root, std::string text, std::string file_glob,
                                   FileAs as, std::uint32_t limit) {
  auto op = file_op(wire::FileVerb::kGrep, root, as);
  op.pattern = std::move(text);
  op.file_glob = std::move(file_glob);
  op.limit = limit;
  auto result = co_await file_grep(line_, std::move(op));
  co_return std::move(result);
}

Task<std::unique_ptr<core::TreeSource>> KeeperFiles::read_tree(std::string path, FileAs as) {
  auto op = file_op(wire::FileVerb::kReadTree, path, as);
  auto tree = co_await tree_read(line_, std::move(op));
  co_return std::move(tree);
}

Task<void> KeeperFiles::write_tree(std::string path, FileAs as,
                                   std::unique_ptr<core::TreeSource> tree) {
  auto op = file_op(wire::FileVerb::kWriteTree, path, as);
  auto done = co_await tree_write(line_, std::move(op), std::move(tree));
  co_return done;
}

}  // namespace cay::runtime
