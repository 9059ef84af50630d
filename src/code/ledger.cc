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

void Ledger::begin(std::string run, LedgerEntry made) {
  if (made.tag.size() > kLongestTag) return;
  if (made.at >= listed_to_) is_idle_ = false;  // else its end may have been read
  listed_to_ = std::max(listed_to_, made.at);
  if (!only_.empty() && run != only_) return;
  if (!entries_.emplace(run, std::move(made)).second) return;
  order_.push_back(std::move(run));
  if (order_.size() <= kMostEntries) return;
  entries_.erase(order_.front());
  order_.pop_front();
  has_lost_ = true;
}

LedgerEntry* Ledger::end(const std::string& run, std::uint64_t at,
                         const codec::json::object& from) {
  if (at >= listed_to_) is_idle_ = true;
  listed_to_ = std::max(listed_to_, at);
  idle_from_ = std::max(idle_from_, at);
  const auto found = entries_.find(run);
  if (found == entries_.end() || found->second.end) return nullptr;
  auto ending = ending_from(from);
  if (!ending) return nullptr;
  LedgerEntry& entry = found->second;
  entry.end = at;
  entry.state = ending->state;
  entry.exit_code = ending->exit_code;
  entry.cwd = std::move(ending->cwd);
  entry.shell_ended = ending->shell_ended;
  return &entry;
}

void Ledger::read_line(std::string_view line) {
  const auto parsed = codec::parse_object(line);
  std::string run;
  std::string type;
  if (!parsed || !read_text(*parsed, "run", run) || !read_text(*parsed, "type", type)) return;
  has_entries_ = true;
  if (run.empty() || run.size() > kLongestRunId) return;
  std::uint64_t at = 0;
  if (!read_count(*parsed, "at", at)) return;
  if (type == "begin") {
    LedgerEntry made{.at = at};
    if (read_text(*parsed, "tag", made.tag) && read_count(*parsed, "from", made.from))
      begin(std::move(run), std::move(made));
  } else if (type == "done") {
    LedgerEntry* const entry = end(run, at, *parsed);
    const auto* jobs = parsed->if_contains("jobs");
    if (entry != nullptr) entry->has_jobs = jobs != nullptr && jobs->is_bool() && jobs->get_bool();
  } else if (const auto found = entries_.find(run); type == "closed" && found != entries_.end()) {
    if (!found->second.jobs_end_at) found->second.jobs_end_at = at;
  }
}

void Ledger::feed_unlisted(std::string_view bytes) {
  std::uint64_t at = listed_to_;
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    read_unlisted(bytes.substr(0, end), at);
    at += end + 1;
    bytes.remove_prefix(end + 1);
  }
  listed_to_ = std::max(listed_to_, at);
}

void Ledger::read_unlisted(std::string_view line, std::uint64_t at) {
  const auto head = head_of(line);
  if (!head || head->run.empty() || (head->type != "begin" && head->type != "done")) return;
  const auto parsed = codec::parse_object(line);
  if (!parsed) return;
  std::string run(head->run);
  if (head->type == "done") {
    end(run, at + line.size() + 1, *parsed);
    return;
  }
  LedgerEntry made{.from = idle_from_, .at = at};
  if (read_text(*parsed, "tag", made.tag)) begin(std::move(run), std::move(made));
}

}  // namespace cay::code
