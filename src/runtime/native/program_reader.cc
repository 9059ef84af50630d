#include "runtime/native/program_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/native/spool_files.h"
#include "wire/program_record.h"

namespace cay::runtime {
namespace {

constexpr std::size_t kPageBytes = 1 << 20;

ProgramEvent to_model(std::uint64_t offset, wire::ProgramMsg&& message) {
  ProgramEvent out;
  out.offset = offset;
  out.kind = static_cast<ProgramKind>(message.kind);
  out.at_us = message.at_us;
  out.pid = message.pid;
  out.parent = message.parent;
  out.started_us = message.started_us;
  out.uid = message.uid;
  out.path = std::move(message.path);
  out.args = std::move(message.args);
  out.path_cut = message.path_cut;
  out.args_cut = message.args_cut;
  out.args_unread = message.args_unread;
  out.exit_code = message.exit_code;
  out.signal = message.signal;
  out.core_dumped = message.core_dumped;
  out.oom_killed = message.oom;
  out.lost = message.lost;
  return out;
}

bool is_known(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(ProgramKind::kStart) &&
         kind <= static_cast<std::uint8_t>(ProgramKind::kFull);
}

}  // namespace

Result<ProgramPage> read_programs(const std::string& spool, const SandboxId& id,
                                  std::uint64_t offset, std::uint32_t limit) {
  const std::uint64_t begin = wire::kProgramHead.size();
  ProgramPage page;
  page.next_offset = std::max(offset, begin);
  CAY_TRY(const auto root, open_spool(spool, id));
  if (!root) return page;
  const auto file = open_kept(root.get(), wire::kProgramFile);
  if (!file && file.error().os_errno == ENOENT) return page;
  if (!file) return file.error();
  std::string bytes(kPageBytes, '\0');
  const Error bad_offset{Code::kInvalidArgument, "bad_offset",
                         "no record begins at offset " + std::to_string(offset) +
                             ": give the next_offset of an earlier page, or 0",
                         0};
  if (page.next_offset > wire::kProgramFileLimit) return bad_offset;
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::pread(file->get(), bytes.data() + size, bytes.size() - size,
                                static_cast<off_t>(page.next_offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "read the program record", "spool_unreadable");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  auto read = wire::read_programs(std::string_view(bytes).substr(0, size), limit);
  // A damaged record behind good ones is reported by the read that begins at it.
  if (read.damaged && read.good == 0) return bad_offset;
  for (auto& [at, message] : read.records) {
    if (is_known(message.kind))
      page.items.push_back(to_model(page.next_offset + at, std::move(message)));
  }
  page.next_offset += read.good;
  return page;
}

}  // namespace cay::runtime
