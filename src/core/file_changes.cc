#include "core/file_changes.h"

#include "core/errors.h"
#include "core/streams.h"
#include "core/validate.h"

namespace cay::core {
namespace {

constexpr std::uint32_t kModeMask = 07777;
constexpr std::uint32_t kMostLevels = 64;
constexpr std::size_t kMostOwnerText = 128;
constexpr std::size_t kMostReplaceText = 64 * 1024;
constexpr std::size_t kMostPaths = 1000;

// Counts the bytes that leave the sandbox.
class CountedOut : public ByteSource {
 public:
  CountedOut(std::unique_ptr<ByteSource> inner, std::shared_ptr<Entry> entry)
      : inner_(std::move(inner)), entry_(std::move(entry)) {}
  Task<Bytes> next() override {
    auto bytes = co_await inner_->next();
    if (bytes) entry_->bytes_out += bytes->size();
    co_return bytes;
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::shared_ptr<Entry> entry_;
};

class HeldFiles : public SeveralFiles {
 public:
  HeldFiles(Held held, std::vector<std::string> paths, FileAs as)
      : held_(std::move(held)), paths_(std::move(paths)), as_(std::move(as)) {}

  asio::awaitable<std::optional<NamedFile>> next() override {
    if (at_ == paths_.size()) co_return std::nullopt;
    const std::string path = paths_[at_++];
    if (auto good = check_path(path); !good) co_return NamedFile{path, std::move(good).error()};
    auto stream = co_await held_.live->read(path, as_, ReadRange{});
    if (stream) stream->bytes = std::make_unique<CountedOut>(std::move(stream->bytes), held_.entry);
    co_return NamedFile{path, std::move(stream)};
  }

 private:
  Held held_;
  const std::vector<std::string> paths_;
  const FileAs as_;
  std::size_t at_ = 0;
};

}  // namespace

Task<Held> FileChangeVerbs::open(Principal who, std::string ref, std::string path, FileAs as) {
  CAY_CO_CHECK(check_path(path));
  CAY_CO_CHECK(check_as(as));
  auto held = co_await wake_.live(std::move(who), std::move(ref));
  co_return held;
}

Task<ChangeCount> FileChangeVerbs::set_mode(Principal who, std::string ref, std::string path,
                                            FileAs as, TreeMode mode) {
  if ((mode.mode & ~kModeMask) != 0) co_return invalid("invalid_mode", "a mode is 0 to 07777");
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto done = co_await held.live->set_mode(std::move(path), std::move(as), mode);
  co_return done;
}

Task<ChangeCount> FileChangeVerbs::set_owner(Principal who, std::string ref, std::string path,
                                             FileAs as, TreeOwner owner) {
  if (owner.owner.empty() || owner.owner.size() > kMostOwnerText ||
      owner.owner.find('\0') != std::string::npos)
    co_return invalid("bad_owner", "an owner is USER, USER:GROUP or :GROUP, by name or number");
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto done = co_await held.live->set_owner(std::move(path), std::move(as), std::move(owner));
  co_return done;
}

Task<ChangeCount> FileChangeVerbs::copy(Principal who, std::string ref, CopyRequest request,
                                        FileAs as) {
  CAY_CO_CHECK(check_path(request.to));
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), request.from, as));
  auto done = co_await held.live->copy(std::move(request), std::move(as));
  co_return done;
}

Task<ChangeCount> FileChangeVerbs::move(Principal who, std::string ref, CopyRequest request,
                                        FileAs as) {
  CAY_CO_CHECK(check_path(request.to));
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), request.from, as));
  auto done = co_await held.live->move(std::move(request), std::move(as));
  co_return done;
}

Task<ReplaceResult> FileChangeVerbs::replace(Principal who, std::string ref, ReplaceRequest request,
                                             FileAs as) {
  if (request.text.empty()) co_return invalid("invalid_pattern", "the text to replace is empty");
  if (request.text.size() > kMostReplaceText || request.replacement.size() > kMostReplaceText)
    co_return invalid("invalid_pattern",
                      "a text to replace, and its replacement, have at most "
                      "65536 bytes");
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), request.root, as));
  auto done = co_await held.live->replace(std::move(request), std::move(as));
  co_return done;
}

Task<FileInfo> FileChangeVerbs::describe(Principal who, std::string ref, std::string path,
                                         FileAs as, bool follow, FileFacts facts) {
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto info = co_await held.live->describe(std::move(path), std::move(as), follow, facts);
  co_return info;
}

Task<std::vector<FileInfo>> FileChangeVerbs::list_levels(Principal who, std::string ref,
                                                         std::string path, FileAs as,
                                                         ListOptions options) {
  if (options.depth < 1 || options.depth > kMostLevels)
    co_return invalid("invalid_depth", "a depth is 1 to 64 levels");
  CAY_CO_TRY(const Held held, co_await open(std::move(who), std::move(ref), path, as));
  auto entries = co_await held.live->list_levels(std::move(path), std::move(as), options);
  co_return entries;
}

Task<std::unique_ptr<SeveralFiles>> FileChangeVerbs::read_several(Principal who, std::string ref,
                                                                  std::vector<std::string> paths,
                                                                  FileAs as) {
  if (paths.size() > kMostPaths) co_return invalid("too_many_paths", "at most 1000 paths");
  CAY_CO_CHECK(check_as(as));
  CAY_CO_TRY(Held held, co_await wake_.live(std::move(who), std::move(ref)));
  co_return std::unique_ptr<SeveralFiles>(
      std::make_unique<HeldFiles>(std::move(held), std::move(paths), std::move(as)));
}

}  // namespace cay::core
