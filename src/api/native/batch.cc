// POST …/batch: files up, a command, files down, in one round trip.
#include "api/common/answer_size.h"
#include "api/common/audit_subjects.h"
#include "api/common/source.h"
#include "api/common/subjects.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "api/native/run_command.h"
#include "api/native/written_file.h"
#include "codec/model_json.h"
#include "codec/utf8.h"
#include "core/ports/runtime.h"
#include "core/verbs/files.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

struct Batch {
  std::vector<WrittenFile> writes;
  std::optional<codec::CommandRequest> command;
  std::vector<std::string> reads;
  std::uint64_t max_read_bytes = 1 << 20;
  FileAs as;
};

void read_write(codec::Fields& fields, const std::string& user, Batch& batch) {
  WrittenFile out = read_written_file(fields, kBatchBodyLimit);
  out.options.as.user = user;
  fields.read("user", out.options.as.user);
  fields.refuse_unknown();
  batch.writes.push_back(std::move(out));
}

Result<Batch> batch_of(const object& body) {
  constexpr std::size_t kMostFiles = 1000;
  constexpr std::int64_t kMostRead = 64 << 20;
  Batch out;
  codec::Fields fields(body);
  fields.read("user", out.as.user);
  if (const array* writes = fields.array("writes")) {
    if (writes->size() > kMostFiles) fields.complain("writes", "has more than 1000 items");
    for (std::size_t i = 0; i < writes->size() && fields.ok(); ++i) {
      const object* item = (*writes)[i].if_object();
      auto where = fields.path("writes");
      where.push_back(std::to_string(i));
      if (item == nullptr) {
        fields.complain("writes", "must be a list of objects");
        break;
      }
      codec::Fields inner(*item, where);
      read_write(inner, out.as.user, out);
      fields.adopt(inner);
    }
  }
  if (const object* command = fields.object("command")) {
    codec::Fields inner(*command, fields.path("command"));
    out.command.emplace();
    codec::read_command_request(inner, *out.command);
    if (!out.command->wait) inner.complain("wait", "cannot be false in a batch");
    if (out.command->wait_ms) inner.complain("wait_s", "cannot be in a batch, which waits");
    inner.refuse_unknown();
    fields.adopt(inner);
  }
  fields.read("reads", out.reads, kMostFiles);
  std::int64_t most = 0;
  if (fields.read("max_read_bytes", most, 0, kMostRead))
    out.max_read_bytes = static_cast<std::uint64_t>(most);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

Error no_room() {
  return {Code::kInvalidArgument, "output_too_large",
          "with this file the answer would be more than 64 MiB of JSON: read it with GET "
          ".../files, or ask for less with "
          "max_read_bytes",
          0};
}

// "writes 2: /a, /b; reads 1: /c"
std::string files_subject(const Batch& batch) {
  constexpr std::size_t kMostPaths = 600;
  Subjects writes("writes", kMostPaths), reads("reads", kMostPaths);
  for (const WrittenFile& one : batch.writes) writes.add(path_subject(one.path));
  for (const std::string& path : batch.reads) reads.add(path_subject(path));
  std::string out = batch.writes.empty() ? "" : writes.text();
  if (!batch.reads.empty()) out += (out.empty() ? "" : "; ") + reads.text();
  return out;
}

// Never fails: the error of a file that cannot be read stands in its place. `room` is how many
// bytes of JSON the answer can still hold, and `part` has the rest.
asio::awaitable<object> read_one(core::Cay& cay, Principal who, std::string ref, std::string path,
                                 FileAs as, std::uint64_t most, std::uint64_t& room,
                                 AnswerPart part) {
  object out{{"path", codec::text(path)}};
  auto file = co_await cay.files().read(who, ref, path, as, core::ReadRange{});
  if (!file) {
    out["error"] = codec::to_json(file.error(), note_error(file.error()));
    co_return out;
  }
  const std::uint64_t size = file->info.size;
  // Raw bytes are never more than their JSON, so that one byte past the room shows that the file
  // does not fit. Files of /proc and the like have a size of 0.
  const std::uint64_t used = kMostAnswer - room;
  most = std::min(most, room + 1);
  if (size > 0) most = std::min(most, size);
  auto held = part->need(used + most);
  if (!held) {
    out["error"] = codec::to_json(held.error(), note_error(held.error()));
    co_return out;
  }
  auto head = co_await read_head(std::move(file->bytes), most);
  part->hold(used);
  // A part of a text file ends between two characters.
  if (head && head->more) head->bytes.resize(head->bytes.size() - codec::broken_end(head->bytes));
  if (!head) {
    out["error"] = codec::to_json(head.error(), note_error(head.error()));
    co_return out;
  }
  const std::uint64_t needs = bytes_size(head->bytes);
  if (needs > room) {
    out["error"] = codec::to_json(no_room(), note_error(no_room()));
    co_return out;
  }
  held = part->need(used + needs);
  if (!held) {
    out["error"] = codec::to_json(held.error(), note_error(held.error()));
    co_return out;
  }
  room -= needs;
  codec::put_bytes(out, "content", head->bytes);
  out["size"] = std::max<std::uint64_t>(size, head->bytes.size());
  out["truncated"] = head->more;
  co_return out;
}

}  // namespace

Task<http::Response> batch(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBatchBodyLimit);
  if (!body) co_return std::move(body).error();
  auto parsed = batch_of(*body);
  body->clear();
  if (!parsed) co_return std::move(parsed).error();
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  // First of all, because a failing read stands in its own place, and a missing sandbox concerns
  // them all.
  auto there = co_await cay.sandboxes().get(who, ref);
  if (!there) co_return std::move(there).error();
  const auto part = cay.answers().begin(who.tenant);
  if (parsed->command) {
    auto room_now = check_room(*parsed->command, *part);  // before the writes, too
    if (!room_now) co_return std::move(room_now).error();
  }
  const std::string files = files_subject(*parsed);
  if (!files.empty())
    exchange->note_subject(files);  // whoever leaves before the last has written these all the same
  array writes;
  for (std::size_t i = 0; i < parsed->writes.size(); ++i) {
    WrittenFile item = std::move(parsed->writes[i]);
    auto info = co_await cay.files().write(who, ref, item.path, item.options,
                                           source_of(std::move(item.bytes)));
    if (!info) co_return std::move(info).error().while_doing("write " + item.path);
    writes.emplace_back(codec::to_json(*info));
  }
  object out{{"writes", std::move(writes)}};
  std::uint64_t room = kMostAnswer;
  if (parsed->command) {
    auto got = co_await run_to_end(cay, exchange, ref, *std::move(parsed->command), part,
                                   files.empty() ? "" : "; " + files);
    if (!got) co_return std::move(got).error();
    out["command"] = result_json(*got, ref);
    room -= bytes_size(got->out) + bytes_size(got->err);
  }
  array reads;
  for (std::size_t i = 0; i < parsed->reads.size(); ++i) {
    auto item = co_await read_one(cay, who, ref, parsed->reads[i], parsed->as,
                                  parsed->max_read_bytes, room, part);
    reads.emplace_back(std::move(item));
  }
  out["reads"] = std::move(reads);
  auto response = json_answer(200, out);
  part->hold(response.body.size());
  response.holds = part;
  co_return response;
}

}  // namespace cay::api::native
