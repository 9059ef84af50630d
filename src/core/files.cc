#include "core/files.h"

#include "core/errors.h"
#include "core/streams.h"
#include "core/validate.h"

namespace cay::core {
namespace {

constexpr std::uint32_t kModeBits = 07777;

Result<void> check_mode(std::uint32_t mode) {
  if ((mode & ~kModeBits) == 0) return {};
  return invalid("invalid_mode", "a mode is 0 to 07777");
}

}  // namespace

Task<Held> FileVerbs::open(Principal who, std::string ref, std::string path, FileAs as) {
  CAY_CO_CHECK(check_path(path));
  CAY_CO_CHECK(check_as(as));
  auto held = co_await wake_.live(std::move(who), std::move(ref));
  co_return held;
}

Task<FileInfo> FileVerbs::stat(Principal who, std::string ref, std::string path, FileAs as,
                               bool follow) {
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto info = co_await held.live->stat(std::move(path), std::move(as), follow);
  co_return info;
}

Task<FileStream> FileVerbs::read(Principal who, std::string ref, std::string path, FileAs as,
                                 ReadRange range) {
  if (range.length < -1)
    co_return invalid("invalid_range", "a range's length is -1 (to the end) or more");
  CAY_CO_TRY(Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto live = held.live;
  CAY_CO_TRY(FileStream stream, co_await live->read(std::move(path), std::move(as), range));
  stream.bytes = held_bytes(std::move(stream.bytes), std::move(held));
  co_return stream;
}

Task<FileInfo> FileVerbs::write(Principal who, std::string ref, std::string path,
                                WriteOptions options, std::unique_ptr<ByteSource> data) {
  CAY_CO_CHECK(check_mode(options.mode));
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, options.as));
  auto counted = counted_in(within_room(std::move(data), held.entry->host->disk), held.entry);
  auto info = co_await held.live->write(std::move(path), std::move(options), std::move(counted));
  co_return info;
}

Task<std::vector<FileInfo>> FileVerbs::list(Principal who, std::string ref, std::string path,
                                            FileAs as) {
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto entries = co_await held.live->list(std::move(path), std::move(as));
  co_return entries;
}

Task<void> FileVerbs::make_directory(Principal who, std::string ref, std::string path, FileAs as,
                                     std::uint32_t mode) {
  CAY_CO_CHECK(check_mode(mode));
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto done = co_await held.live->make_directory(std::move(path), std::move(as), mode);
  co_return done;
}

Task<void> FileVerbs::remove(Principal who, std::string ref, std::string path, FileAs as,
                             bool recursive) {
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto done = co_await held.live->remove(std::move(path), std::move(as), recursive);
  co_return done;
}

Task<void> FileVerbs::rename(Principal who, std::string ref, std::string from, std::string to,
                             FileAs as) {
  CAY_CO_CHECK(check_path(to));
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), from, as));
  auto done = co_await held.live->rename(std::move(from), std::move(to), std::move(as));
  co_return done;
}

Task<GlobResult> FileVerbs::glob(Principal who, std::string ref, std::string root,
                                 std::string pattern, FileAs as, std::uint32_t limit) {
  CAY_CO_CHECK(check_path(pattern));
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), root, as));
  auto found = co_await held.live->glob(std::move(root), std::move(pattern), std::move(as), limit);
  co_return found;
}

Task<GrepResult> FileVerbs::grep(Principal who, std::string ref, std::string root, std::string text,
                                 std::string file_glob, FileAs as, std::uint32_t limit) {
  if (text.empty()) co_return invalid("invalid_pattern", "grep needs a text to look for");
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), root, as));
  auto live = held.live;
  auto found = co_await live->grep(std::move(root), std::move(text), std::move(file_glob),
                                   std::move(as), limit);
  co_return found;
}

Task<std::unique_ptr<TreeSource>> FileVerbs::read_tree(Principal who, std::string ref,
                                                       std::string path, FileAs as) {
  CAY_CO_TRY(Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto live = held.live;
  CAY_CO_TRY(auto tree, co_await live->read_tree(std::move(path), std::move(as)));
  co_return held_tree(std::move(tree), std::move(held));
}

Task<void> FileVerbs::write_tree(Principal who, std::string ref, std::string path, FileAs as,
                                 std::unique_ptr<TreeSource> tree) {
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto counted = counted_in(within_room(std::move(tree), held.entry->host->disk), held.entry);
  auto done = co_await held.live->write_tree(std::move(path), std::move(as), std::move(counted));
  co_return done;
}

}  // namespace cay::core
