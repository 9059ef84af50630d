// The verbs on the content of disks and snapshots.
#include "client/api.h"
#include "client/json_read.h"
#include "codec/base64.h"
#include "codec/json.h"

namespace cay::client {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;

sdk::ChangedFile side_from(const json::object& from) {
  sdk::ChangedFile out;
  out.kind = string_in(from, "kind");
  out.size = number_in(from, "size");
  out.mode = string_in(from, "mode");
  out.uid = static_cast<std::uint32_t>(number_in(from, "uid"));
  out.gid = static_cast<std::uint32_t>(number_in(from, "gid"));
  out.target = string_in(from, "target");
  return out;
}

std::optional<sdk::ChangedFile> side_in(const json::object& from, std::string_view name) {
  const auto* side = from.if_contains(name);
  if (side == nullptr || !side->is_object()) return std::nullopt;
  return side_from(side->get_object());
}

sdk::StoreFinding finding_from(const json::object& from) {
  sdk::StoreFinding out;
  out.kind = string_in(from, "kind");
  out.subject = string_in(from, "subject");
  out.meaning = string_in(from, "meaning");
  out.remedy = string_in(from, "remedy");
  out.can_repair = bool_in(from, "can_repair");
  out.repaired = bool_in(from, "repaired");
  return out;
}

Error bad_line() {
  return {Code::kInternal, "bad_answer", "the daemon's answer to a comparison cannot be read", 0};
}

// Returns true at the last line.
Result<bool> take_line(const std::string& line, const sdk::OnChange& change,
                       sdk::DiffSummary& out) {
  const auto parsed = codec::parse_object(line);
  if (!parsed) return bad_line();
  if (bool_in(*parsed, "end")) {
    out.added = number_in(*parsed, "added");
    out.changed = number_in(*parsed, "changed");
    out.deleted = number_in(*parsed, "deleted");
    return true;
  }
  sdk::DiskChange one;
  one.change = string_in(*parsed, "change");
  one.path = string_in(*parsed, "path");
  if (const std::string encoded = string_in(*parsed, "path_base64"); !encoded.empty())
    one.path = codec::from_base64(encoded).value_or(one.path);
  one.before = side_in(*parsed, "before");
  one.after = side_in(*parsed, "after");
  one.json = line;
  if (change) change(one);
  return false;
}

}  // namespace

Task<std::unique_ptr<ByteSource>> diff(Connection& at, std::string ref) {
  auto answer = co_await at.download(sandbox_target(ref, "/diff"));
  co_return answer;
}

Result<void> DiffReader::add(const std::string& piece) {
  rest_ += piece;
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    CAY_TRY(const bool over, take_line(rest_.substr(begin, end - begin), change_, sums_));
    ended_ = ended_ || over;
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (rest_.size() > kLongestLine) return bad_line();
  return {};
}

Result<sdk::DiffSummary> DiffReader::finish() const {
  if (!ended_) return bad_line();
  return sums_;
}

Task<std::unique_ptr<ByteSource>> export_snapshot(Connection& at, std::string ref) {
  auto answer = co_await at.download("/api/v1/snapshots/" + http::encode_segment(ref) + "/archive");
  co_return answer;
}

Task<sdk::StoreReport> check_store(Connection& at, bool repair) {
  std::string body = codec::write(json::object{{"repair", repair}});
  auto answer = co_await at.call_json("POST", "/api/v1/store/check", std::move(body));
  if (!answer) co_return std::move(answer).error();
  sdk::StoreReport out;
  out.clean = bool_in(*answer, "clean");
  out.findings = list_from(*answer, "findings", finding_from);
  out.json = codec::write(*answer);
  co_return out;
}

}  // namespace cay::client
