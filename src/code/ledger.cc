#include "code/ledger.h"

#include <algorithm>
#include <utility>

#include "code/driver_line.h"

namespace cay::code {
namespace {

constexpr std::size_t kLongestEntry = 32 << 10;  // a path of 4 KiB, each byte as \u0000
constexpr std::size_t kLongestTag = 64;

}  // namespace

void Ledger::feed(std::string_view bytes) {
  at_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > kLongestEntry) is_cut_ = true;
    if (!is_cut_) line_ += piece;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!is_cut_) read_line(line_);
    line_.clear();
    is_cut_ = false;
  }
}

void Ledger::gap(std::uint64_t length) {
  at_ += length;
  has_lost_ = true;
  is_cut_ = true;
  line_.clear();
}

const LedgerEntry* Ledger::find(const std::string& run) const {
  const auto found = entries_.find(run);
  return found == entries_.end() ? nullptr : &found->second;
}

void Ledger::begin(std::string run, const codec::json::object& from) {
  LedgerEntry made;
  if (!read_text(from, "tag", made.tag) || made.tag.size() > kLongestTag ||
      !read_count(from, "from", made.from) || !read_count(from, "at", made.at)) {
    return;
  }
  is_idle_ = false;
  if (!only_.empty() && run != only_) return;
  if (!entries_.emplace(run, std::move(made)).second) return;
  order_.push_back(std::move(run));
  if (order_.size() <= kMostEntries) return;
  entries_.erase(order_.front());
  order_.pop_front();
  has_lost_ = true;
}

void Ledger::read_line(std::string_view line) {
  const auto parsed = codec::parse_object(line);
  std::string run;
  std::string type;
  if (!parsed || !read_text(*parsed, "run", run) || !read_text(*parsed, "type", type)) return;
  has_entries_ = true;
  if (run.empty() || run.size() > kLongestRunId) return;
  if (type == "begin") return begin(std::move(run), *parsed);
  std::uint64_t at = 0;
  if (!read_count(*parsed, "at", at)) return;
  if (type == "done") is_idle_ = true;
  const auto found = entries_.find(run);
  if (found == entries_.end()) return;
  LedgerEntry& entry = found->second;
  if (type == "closed" && !entry.jobs_end_at) entry.jobs_end_at = at;
  if (type != "done" || entry.end) return;
  auto ending = ending_from(*parsed);
  if (!ending) return;
  entry.end = at;
  entry.state = ending->state;
  entry.exit_code = ending->exit_code;
  entry.cwd = std::move(ending->cwd);
  entry.shell_ended = ending->shell_ended;
  const auto* jobs = parsed->if_contains("jobs");
  entry.has_jobs = jobs != nullptr && jobs->is_bool() && jobs->get_bool();
}

}  // namespace cay::code
