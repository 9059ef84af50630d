// Routes that compare, export and check the content of disks and snapshots.
#include "core/verbs/contents.h"

#include <array>

#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "core/verbs/snapshots.h"

namespace cay::api::native {
namespace {

using codec::json::array;
using codec::json::object;

constexpr std::size_t kPieceOfDiff = 32 * 1024;

// The facts of a file on one side of a comparison.
object side_json(const FileInfo& info) {
  object all = codec::to_json(info);
  object out;
  for (const char* name : {"kind", "size", "mode", "uid", "gid", "target"}) {
    if (const auto* value = all.if_contains(name)) out[name] = *value;
  }
  return out;
}

object change_json(const DiskChange& change) {
  FileInfo named;
  named.path = change.path;
  const object path = codec::to_json(named);  // writes a path in its two forms
  object out{{"change", text_of(change.kind)}, {"path", path.at("path")}};
  if (const auto* encoded = path.if_contains("path_base64")) out["path_base64"] = *encoded;
  if (change.before) out["before"] = side_json(*change.before);
  if (change.after) out["after"] = side_json(*change.after);
  return out;
}

// One JSON object a line, and at the end one with the sums. An answer without that is not whole.
class DiffLines final : public ByteSource {
 public:
  explicit DiffLines(std::unique_ptr<core::ChangeSource> changes) : changes_(std::move(changes)) {}

  Task<Bytes> next() override {
    Bytes out;
    while (!ended_ && out.size() < kPieceOfDiff) {
      CAY_CO_TRY(const auto change, co_await changes_->next());
      if (change) {
        ++counts_[static_cast<std::size_t>(change->kind)];
        out += codec::write(change_json(*change)) + "\n";
        continue;
      }
      ended_ = true;
      const object sums{
          {"end", true}, {"added", counts_[0]}, {"changed", counts_[1]}, {"deleted", counts_[2]}};
      out += codec::write(sums) + "\n";
    }
    co_return std::move(out);
  }

 private:
  std::unique_ptr<core::ChangeSource> changes_;
  std::array<std::uint64_t, 3> counts_{};  // by ChangeKind
  bool ended_ = false;
};

object finding_json(const StoreFinding& one) {
  return {{"kind", one.kind},     {"subject", one.subject},       {"meaning", one.meaning},
          {"remedy", one.remedy}, {"can_repair", one.can_repair}, {"repaired", one.repaired}};
}

}  // namespace

Task<void> sandbox_diff(core::Cay& cay, ExchangePtr exchange) {
  auto comparing =
      cay.snapshots().contents().changes(exchange->principal(), param(*exchange, "ref"));
  auto changes = co_await std::move(comparing);
  if (!changes) co_return std::move(changes).error();
  http::Headers headers;
  headers.add("Content-Type", "application/x-ndjson");
  headers.add("Cache-Control", "no-store");
  auto lines = std::make_unique<DiffLines>(*std::move(changes));
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(lines));
  co_return Result<void>();
}

Task<void> export_snapshot(core::Cay& cay, ExchangePtr exchange) {
  auto exporting =
      cay.snapshots().contents().export_archive(exchange->principal(), param(*exchange, "ref"));
  auto archive = co_await std::move(exporting);
  if (!archive) co_return std::move(archive).error();
  http::Headers headers;
  headers.add("Content-Type", "application/x-tar");
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, *std::move(archive));
  co_return Result<void>();
}

Task<http::Response> check_store(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  bool repair = false;
  fields.read("repair", repair);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  if (repair) exchange->note_subject("repair of the store");
  auto checking = cay.snapshots().contents().check(exchange->principal(),
                                                   repair ? core::Repair::kYes : core::Repair::kNo);
  auto report = co_await std::move(checking);
  if (!report) co_return std::move(report).error();
  array items;
  bool is_clean = true;
  for (const StoreFinding& one : report->findings) {
    is_clean = is_clean && one.repaired;
    items.emplace_back(finding_json(one));
  }
  co_return json_answer(200, object{{"clean", is_clean},
                                    {"snapshots", report->snapshots},
                                    {"layers", report->layers},
                                    {"sandboxes", report->sandboxes},
                                    {"findings", std::move(items)}});
}

}  // namespace cay::api::native
