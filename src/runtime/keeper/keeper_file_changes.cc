#include "runtime/keeper/keeper_file_changes.h"

#include <utility>

#include "runtime/keeper/convert.h"
#include "runtime/keeper/file_calls.h"
#include "runtime/keeper/keeper_calls.h"
#include "wire/keeper_features.h"

namespace cay::runtime {
namespace {

constexpr std::uint64_t kWatchWindow = 256 * 1024;

FileEventKind event_kind(std::uint8_t raw) {
  const bool known = raw >= static_cast<std::uint8_t>(FileEventKind::kCreated) &&
                     raw <= static_cast<std::uint8_t>(FileEventKind::kGap);
  return known ? static_cast<FileEventKind>(raw) : FileEventKind::kGap;
}

// The events of a watch, under credit.
class KeeperWatch final : public core::FileWatch {
 public:
  explicit KeeperWatch(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  Task<FileEvent> next() override {
    if (owed_ >= kWatchWindow / 4) {
      channel_->grant(owed_);
      owed_ = 0;
    }
    while (true) {
      const Deadline deadline = Deadline::max();
      CAY_CO_TRY(const auto frame, co_await channel_->next(deadline));
      if (is(frame, wire::Type::kCredit)) continue;  // long work goes on
      CAY_CO_TRY(auto message,
                 decode_as<wire::FileEventMsg>(frame, wire::Type::kFileEvent, "an event of files"));
      owed_ += frame.payload.size();
      co_return FileEvent{.kind = event_kind(message.kind),
                          .path = std::move(message.path),
                          .to = std::move(message.to),
                          .directory = message.directory};
    }
  }

 private:
  std::unique_ptr<Channel> channel_;
  std::uint64_t owed_ = 0;
};

// The next frame that is not the sign of long work.
Task<wire::Frame> next_frame(Channel& channel) {
  while (true) {
    const Deadline deadline = after(kFileLimit);
    CAY_CO_TRY(auto frame, co_await channel.next(deadline));
    if (!is(frame, wire::Type::kCredit)) co_return std::move(frame);
  }
}

Task<std::unique_ptr<Channel>> begin(std::shared_ptr<PersistentLink> line, wire::FileOp op,
                                     std::string_view feature) {
  CAY_CO_CHECK(co_await need_feature(line, feature));
  auto payload = wire::encode(op);
  auto channel = co_await ask(std::move(line), wire::Type::kFileOp, std::move(payload));
  co_return std::move(channel);
}

Task<ChangeCount> change(std::shared_ptr<PersistentLink> line, wire::FileOp op) {
  CAY_CO_TRY(auto channel,
             co_await begin(std::move(line), std::move(op), wire::keeper_feature::kFileChanges));
  CAY_CO_TRY(const auto frame, co_await next_frame(*channel));
  CAY_CO_TRY(const auto done,
             decode_as<wire::FileDoneMsg>(frame, wire::Type::kFileDone, "the end of the change"));
  channel->finish();
  co_return ChangeCount{.entries = done.entries,
                        .bytes = done.bytes,
                        .left_out = done.left_out,
                        .copied = done.copied};
}

wire::FileOp copy_op(wire::FileVerb verb, const CopyRequest& request, const FileAs& as) {
  auto op = file_op(verb, request.from, as);
  op.to = request.to;
  op.recursive = request.recursive;
  op.exclusive = request.exclusive;
  op.parents = request.create_parents;
  return op;
}

ReplacedFile replaced(const wire::ReplacedMsg& message) {
  ReplacedFile out{.path = message.path, .count = message.count};
  if (!message.reason.empty())
    out.error = to_error(wire::ErrorMsg{message.code, message.reason, message.message, 0});
  return out;
}

}  // namespace

Task<void> need_feature(std::shared_ptr<PersistentLink> line, std::string_view feature) {
  CAY_CO_TRY(const auto link, co_await line->link(kLinkLimit));
  if (line->theirs().has(feature)) co_return Result<void>{};
  co_return Error{Code::kUnsupported, "keeper_too_old",
                  "an earlier release started this sandbox, and its keeper cannot do this: stop "
                  "and start the sandbox",
                  0};
}

Task<ChangeCount> KeeperFileChanges::set_mode(std::string path, FileAs as, TreeMode mode) {
  auto op = file_op(wire::FileVerb::kChmod, path, as);
  op.mode = mode.mode;
  op.recursive = mode.recursive;
  auto done = co_await change(line_, std::move(op));
  co_return done;
}

Task<ChangeCount> KeeperFileChanges::set_owner(std::string path, FileAs as, TreeOwner owner) {
  auto op = file_op(wire::FileVerb::kChown, path, as);
  op.owner = std::move(owner.owner);
  op.recursive = owner.recursive;
  auto done = co_await change(line_, std::move(op));
  co_return done;
}

Task<ChangeCount> KeeperFileChanges::copy(CopyRequest request, FileAs as) {
  auto op = copy_op(wire::FileVerb::kCopy, request, as);
  auto done = co_await change(line_, std::move(op));
  co_return done;
}

Task<ChangeCount> KeeperFileChanges::move(CopyRequest request, FileAs as) {
  auto op = copy_op(wire::FileVerb::kMove, request, as);
  auto done = co_await change(line_, std::move(op));
  co_return done;
}

Task<ReplaceResult> KeeperFileChanges::replace(ReplaceRequest request, FileAs as) {
  auto op = file_op(wire::FileVerb::kReplace, request.root, as);
  op.pattern = std::move(request.text);
  op.replacement = std::move(request.replacement);
  op.file_glob = std::move(request.file_glob);
  op.limit = request.limit;
  op.once = request.once;
  op.one_file = request.one_file;
  const bool new_member = request.once || request.one_file;
  const std::string_view feature =
      new_member ? wire::keeper_feature::kOneFile : wire::keeper_feature::kFileChanges;
  CAY_CO_TRY(auto channel, co_await begin(line_, std::move(op), feature));
  ReplaceResult result;
  std::size_t bytes = 0;
  while (true) {
    CAY_CO_TRY(const auto frame, co_await next_frame(*channel));
    if (is(frame, wire::Type::kEof)) {
      channel->finish();
      CAY_CO_TRY(const auto eof, decode_as<wire::Eof>(frame, wire::Type::kEof, "the end"));
      result.truncated = eof.truncated;
      co_return std::move(result);
    }
    CAY_CO_TRY(const auto message,
               decode_as<wire::ReplacedMsg>(frame, wire::Type::kReplaced, "a replaced file"));
    bytes += frame.payload.size();
    if (result.files.size() >= kMaxEntries || bytes > kMaxEntryBytes) {
      co_return Error{Code::kExhausted, "listing_too_large",
                      "the text was replaced in too many files for one answer: set a limit", 0};
    }
    result.files.push_back(replaced(message));
  }
}

Task<FileInfo> KeeperFileChanges::describe(std::string path, FileAs as, bool follow,
                                           FileFacts facts) {
  CAY_CO_CHECK(co_await need_feature(line_, wire::keeper_feature::kFileChanges));
  auto op = file_op(wire::FileVerb::kStat, path, as);
  op.follow = follow;
  op.with_names = facts.names;
  op.with_xattrs = facts.xattrs;
  auto info = co_await file_stat(line_, std::move(op));
  co_return info;
}

Task<std::vector<FileInfo>> KeeperFileChanges::list_levels(std::string path, FileAs as,
                                                           ListOptions options) {
  CAY_CO_CHECK(co_await need_feature(line_, wire::keeper_feature::kFileChanges));
  auto op = file_op(wire::FileVerb::kList, path, as);
  op.depth = options.depth;
  op.with_names = options.facts.names;
  op.with_xattrs = options.facts.xattrs;
  CAY_CO_TRY(auto entries, co_await file_entries(line_, std::move(op)));
  co_return std::move(entries.matches);
}

Task<std::unique_ptr<core::FileWatch>> KeeperFileChanges::watch(std::string path, FileAs as,
                                                                bool recursive) {
  auto op = file_op(wire::FileVerb::kWatch, path, as);
  op.recursive = recursive;
  op.credit = kWatchWindow;
  CAY_CO_TRY(auto channel, co_await begin(line_, std::move(op), wire::keeper_feature::kFileWatch));
  channel->grant(kWatchWindow, Channel::Announce::kNo);
  CAY_CO_TRY(const auto frame, co_await next_frame(*channel));
  if (!is(frame, wire::Type::kOk)) co_return unexpected_frame(frame, "ok");
  co_return std::unique_ptr<core::FileWatch>(std::make_unique<KeeperWatch>(std::move(channel)));
}

}  // namespace cay::runtime
