#include "keeper/file_job.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cay::keeper {
namespace {

using wire::FileVerb;
using wire::Type;

constexpr std::uint64_t kMostUpload = 512 * 1024;  // credit a helper may give: what we hold for it
constexpr int kBulkBuffer =
    512 * 1024;  // bytes that a bulk socket holds, as far as the host allows

// The frames that a verb sends before content, and that take credit as content does; none: kOk.
Type entry_type(FileVerb verb) {
  if (verb == FileVerb::kReadTree) return Type::kFileInfo;
  if (verb == FileVerb::kWatch) return Type::kFileEvent;
  return verb == FileVerb::kReadLayer ? Type::kLayerEntry : Type::kOk;
}

// An entry goes out whole: with less credit than the largest takes, it is the daemon's turn.
std::uint64_t largest_entry(FileVerb verb) {
  if (verb == FileVerb::kReadTree) return 16 * 1024;
  return verb == FileVerb::kReadLayer ? std::uint64_t{wire::kDataChunk} : 0;
}

// The daemon gets the helper's signs of long work, too.
bool may_take_long(FileVerb verb) { return verb >= FileVerb::kWriteLayer; }

bool is_error(const wire::Frame& frame) {
  const auto error = wire::decode<wire::ErrorMsg>(frame.payload);
  return error && error->code >= 1 && error->code <= static_cast<std::uint32_t>(Code::kInternal);
}

template <wire::Message T>
bool decodes(const wire::Frame& frame) {
  return wire::decode<T>(frame.payload).has_value();
}

}  // namespace

FileJob::Word FileJob::judge(const wire::Frame& frame) {
  const auto type = static_cast<Type>(frame.type);
  bool fine = false;
  bool last = false;
  switch (type) {
    case Type::kFileInfo: fine = decodes<wire::FileInfoMsg>(frame); break;
    case Type::kLayerEntry:
      fine = verb() == FileVerb::kReadLayer && decodes<wire::LayerEntryMsg>(frame);
      break;
    case Type::kGrepMatch: fine = decodes<wire::GrepMatchMsg>(frame); break;
    case Type::kFileDone: fine = decodes<wire::FileDoneMsg>(frame); break;
    case Type::kReplaced: fine = decodes<wire::ReplacedMsg>(frame); break;
    case Type::kFileEvent:
      fine = verb() == FileVerb::kWatch && confirmed && decodes<wire::FileEventMsg>(frame);
      break;
    case Type::kOk:
      fine = last = frame.payload.empty();
      if (verb() != FileVerb::kWatch) break;
      last = false;  // events follow
      fine = fine && !std::exchange(confirmed, true);
      break;
    case Type::kEof: fine = last = decodes<wire::Eof>(frame); break;
    case Type::kError: fine = last = is_error(frame); break;
    case Type::kData: {
      const auto data = wire::decode_data(frame.payload);
      fine = data && !uploads && !bulk && data->bytes.size() <= wire::kDataChunk &&
             data->bytes.size() <= credit;
      if (fine) credit -= data->bytes.size();
      break;
    }
    case Type::kBulk:
      if (verb() != FileVerb::kRead || op.bulk_from == 0 || bulk) break;
      return Word::kBulkRequest;
    case Type::kCredit: {
      const auto given = wire::decode<wire::Credit>(frame.payload);
      if (given && given->bytes == 0)  // "still at work"
        return may_take_long(verb()) ? Word::kPassOn : Word::kIgnored;
      fine = given && uploads && given->bytes <= kMostUpload - std::min(kMostUpload, upload_credit);
      if (fine) upload_credit += given->bytes;
      break;
    }
    default: break;
  }
  if (fine && type == entry_type(verb())) {
    fine = frame.payload.size() <= credit;
    if (fine) credit -= frame.payload.size();
  }
  if (!fine) return Word::kNonsense;
  return last ? Word::kLast : Word::kPassOn;
}

bool FileJob::owes() const {
  if (starting || pid == 0 || blocked) return false;
  if (!out.empty()) return true;
  // The daemon sees what goes over the socket, and ends an operation that does not get on.
  if (bulk) return daemon_done;
  if (uploads) return daemon_done || upload_credit < kMostUpload / 2;
  if (verb() == FileVerb::kWatch && confirmed) return false;  // nothing may happen for days
  const bool streams = verb() == FileVerb::kRead || entry_type(verb()) != Type::kOk;
  return !streams || credit > largest_entry(verb());
}

void FileJob::pass_on(Type type, std::string_view payload) {
  wire::Frame frame;
  frame.type = static_cast<std::uint16_t>(type);
  frame.payload = payload;
  const std::string bytes = wire::encode_frame(frame);
  out.append(bytes);
  if (reused && !heard) unheard += bytes;
}

bool FileJob::flush() {
  const std::size_t before = out.size();
  const bool takes = out.flush(socket.get()) == 0;
  if (out.size() < before) last_progress = monotonic_ms();
  want();
  return takes;
}

void FileJob::want() {
  std::uint32_t events = 0;
  if (!blocked && !helper_eof) events |= EPOLLIN;
  if (!out.empty() && !helper_eof) events |= EPOLLOUT;
  watch.want(events);
}

Result<void> FileJob::open_bulk(Outbox& outbox) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error::from_errno(errno, "make a socket for file work", "start_failed");
  UniqueFd daemons(ends[0]);
  UniqueFd helpers(ends[1]);
  for (const int end : ends)
    ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kBulkBuffer, sizeof kBulkBuffer);
  bulk = true;
  out.attach(std::move(helpers));  // with the frame that follows
  outbox.send_with(std::move(daemons), to, Type::kBulk);
  return {};
}

}  // namespace cay::keeper
