// The questions of the gate about destinations, and their answers (decision 0064).
#include <algorithm>

#include "async/deadline.h"
#include "core/policies.h"
#include "core/validate.h"

namespace cay::core {
namespace {

// Another process writes the file and sends no notice.
constexpr std::chrono::milliseconds kLookForQuestions{100};

std::string rule_for(const NetworkQuestion& question, bool allowed) {
  const bool six = question.host.find(':') != std::string::npos;
  return (allowed ? "" : "!") + (six ? "[" + question.host + "]" : question.host) + ":" +
         std::to_string(question.port);
}

// The sandbox's policy with one rule more, which keeps `ask`.
std::string with_rule(const Sandbox& row, const std::string& rule) {
  const bool has_rules = row.policy == policy::kOwnRules;
  return (has_rules ? row.rules : "default ask\n@" + row.policy) + "\n" + rule;
}

// Those of a sandbox that does not run are nobody's.
Task<std::vector<NetworkQuestion>> open_questions(std::shared_ptr<Entry> entry) {
  if (entry->live == nullptr) co_return std::vector<NetworkQuestion>();
  auto open = co_await entry->host->runtime.questions(entry->row.id);
  co_return open;
}

Error not_open() {
  return Error{Code::kNotFound, "question_not_found",
               "the question is not open: it was answered, or its time was over", 0};
}

}  // namespace

Task<std::vector<NetworkQuestion>> PolicyVerbs::questions(Principal who, std::string ref,
                                                          std::chrono::milliseconds wait) {
  const auto deadline = deadline_in(wait);
  for (;;) {
    // Each time: it may be gone meanwhile.
    CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
    auto open = co_await open_questions(entry);
    if (!open || !open->empty()) co_return open;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline || jobs_.closing) co_return open;
    co_await sleep_for(std::chrono::duration_cast<Millis>(
        std::min<std::chrono::steady_clock::duration>(kLookForQuestions, deadline - now)));
  }
}

Task<NetworkQuestion> PolicyVerbs::answer(Principal who, std::string ref, NetworkAnswer answer) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  CAY_CO_TRY(const auto open, co_await open_questions(entry));
  const auto found = std::ranges::find(open, answer.question, &NetworkQuestion::id);
  if (found == open.end()) co_return not_open();
  const std::string rule = rule_for(*found, answer.allowed);
  if (answer.allowed) {
    CAY_CO_CHECK(chosen_policy(rule, defaults_));
  }
  if (answer.always) {
    SandboxPatch patch;
    patch.policy = with_rule(entry->row, rule);
    CAY_CO_CHECK(co_await sandboxes_.update(who, entry->row.id.get(), std::move(patch)));
    co_return *found;  // the gate ends what the changed policy decides
  }
  CAY_CO_CHECK(co_await entry->host->runtime.answer_question(entry->row.id, answer.question,
                                                             answer.allowed));
  co_return *found;
}

}  // namespace cay::core
