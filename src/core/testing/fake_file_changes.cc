#include "core/testing/fake_live_sandbox.h"

namespace cay::core::testing {
namespace {

class FeedWatch : public FileWatch {
 public:
  explicit FeedWatch(std::shared_ptr<FakeLiveFileChanges::Feed> feed) : feed_(std::move(feed)) {
    feed_->watched = true;
  }
  ~FeedWatch() override { feed_->watched = false; }
  FeedWatch(const FeedWatch&) = delete;
  FeedWatch& operator=(const FeedWatch&) = delete;

  Task<FileEvent> next() override {
    for (;;) {
      if (!feed_->events.empty()) {
        FileEvent event = std::move(feed_->events.front());
        feed_->events.pop_front();
        co_return event;
      }
      if (feed_->end) co_return *feed_->end;
      co_await feed_->changed.wait();
    }
  }

 private:
  std::shared_ptr<FakeLiveFileChanges::Feed> feed_;
};

}  // namespace

Task<ChangeCount> FakeLiveFileChanges::set_mode(std::string path, FileAs as, TreeMode mode) {
  CAY_CO_CHECK(answers());
  CAY_CO_TRY(const auto info, fake_files().stat(path, as));
  fake_files().tree.at(info.path).info.mode = mode.mode;
  co_return ChangeCount{.entries = 1};
}
Task<ChangeCount> FakeLiveFileChanges::set_owner(std::string path, FileAs as, TreeOwner owner) {
  CAY_CO_CHECK(answers());
  CAY_CO_TRY(const auto info, fake_files().stat(path, as));
  fake_files().tree.at(info.path).info.owner = owner.owner;
  co_return ChangeCount{.entries = 1};
}
Task<ChangeCount> FakeLiveFileChanges::copy(CopyRequest request, FileAs as) {
  CAY_CO_CHECK(answers());
  if (request.exclusive && fake_files().stat(request.to, as))
    co_return Error{Code::kAlreadyExists, "already_exists", request.to + ": already exists", 0};
  CAY_CO_TRY(const auto info, fake_files().stat(request.from, as));
  const auto node = fake_files().tree.at(info.path);
  fake_files().put(request.to, node.bytes, node.info.mode);
  co_return ChangeCount{.entries = 1, .bytes = node.bytes.size()};
}
Task<ChangeCount> FakeLiveFileChanges::move(CopyRequest request, FileAs as) {
  CAY_CO_CHECK(answers());
  CAY_CO_CHECK(fake_files().rename(request.from, request.to, as));
  co_return ChangeCount{.entries = 1};
}
Task<ReplaceResult> FakeLiveFileChanges::replace(ReplaceRequest request, FileAs as) {
  CAY_CO_CHECK(answers());
  ReplaceResult out;
  if (request.one_file) {
    CAY_CO_TRY(const auto info, fake_files().stat(request.root, as));
    if (info.kind == FileKind::kDirectory)
      co_return Error{Code::kInvalidArgument, "is_a_directory", request.root + ": a directory", 0};
  }
  CAY_CO_TRY(const auto found,
             fake_files().grep(request.root, request.text, request.file_glob, as, 0));
  for (const GrepMatch& match : found.matches) {
    Bytes& kept = fake_files().tree.at(match.path).bytes;
    Bytes bytes = kept;
    std::uint64_t count = 0;
    for (std::size_t at = 0; (at = bytes.find(request.text, at)) != Bytes::npos; ++count) {
      bytes.replace(at, request.text.size(), request.replacement);
      at += request.replacement.size();
    }
    if (count == 0) continue;
    out.files.push_back({.path = match.path, .count = count});
    if (request.once && count > 1) {
      out.files.back().error =
          Error{Code::kInvalidArgument, "text_not_unique", match.path + ": not unique", 0};
    } else {
      kept = std::move(bytes);
    }
  }
  co_return out;
}
Task<FileInfo> FakeLiveFileChanges::describe(std::string path, FileAs as, bool, FileFacts) {
  CAY_CO_CHECK(answers());
  co_return fake_files().stat(path, as);
}
Task<std::vector<FileInfo>> FakeLiveFileChanges::list_levels(std::string path, FileAs as,
                                                             ListOptions) {
  CAY_CO_CHECK(answers());
  co_return fake_files().list(path, as);
}
Task<std::unique_ptr<FileWatch>> FakeLiveFileChanges::watch(std::string, FileAs, bool) {
  CAY_CO_CHECK(answers());
  if (!feed) co_return Error{Code::kUnsupported, "keeper_too_old", "an old keeper", 0};
  co_return std::unique_ptr<FileWatch>(std::make_unique<FeedWatch>(feed));
}

}  // namespace cay::core::testing
