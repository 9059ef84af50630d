#include "gate/questions.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "async/deadline.h"
#include "base/sha256.h"
#include "gate/counted.h"
#include "os/file.h"
#include "os/random.h"

namespace cay::gate {
namespace {

constexpr Millis kLookEvery{500};  // whether the client is still there
constexpr Millis kBetweenWrites{20};
constexpr std::size_t kIdBytes = 16;
constexpr mode_t kAskedMode = 0640;  // the daemon's group reads

// Also after a half-close: that is how a client which closed looks from here.
bool has_left(int socket_fd) {
  pollfd at{.fd = socket_fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&at, 1, 0) > 0 && (at.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

std::string rule_text(const std::string& host, std::uint16_t port) {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// Null: no rule can be for it.
Grant grant_for(const std::string& host, std::uint16_t port) {
  auto rule = policy::parse_rule(rule_text(host, port), policy::Words::kHosts);
  if (!rule) return nullptr;
  policy::RuleSet set;
  set.rules.push_back(*std::move(rule));
  return std::make_shared<const policy::Policy>(std::move(set),
                                                [](std::string_view) { return nullptr; });
}

}  // namespace

// Counts a connection that is held, in all and for its question.
class Questions::Waiting {
 public:
  Waiting(Questions& questions, QuestionPtr question)
      : questions_(questions), held_(questions.held_), question_(std::move(question)) {
    ++question_->shown.waiting;
    tell();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    --question_->shown.waiting;
    tell();
  }

 private:
  void tell() {
    questions_.dirty_ = true;
    questions_.to_write_.set();
  }

  Questions& questions_;
  const Counted held_;
  const QuestionPtr question_;
};

Questions::Questions(asio::any_io_executor loop, int directory, const std::string& sandbox_id,
                     std::shared_ptr<const policy::Catalogue> policies, Limits limits)
    : loop_(std::move(loop)),
      directory_(directory),
      file_(sandbox_id + wire::kAskedSuffix),
      keeper_(sandbox_id + ".sock"),
      policies_(std::move(policies)),
      limits_(limits),
      to_write_(loop_) {
  ::unlinkat(directory_, file_.c_str(), 0);
}

Questions::~Questions() {
  if (exists_) ::unlinkat(directory_, file_.c_str(), 0);
}

asio::awaitable<Questions::Answer> Questions::ask(Descriptor& client, std::string host,
                                                  std::uint16_t port) {
  const char* reason = nullptr;
  const QuestionPtr question = find_or_make({std::move(host), port}, reason);
  if (question == nullptr) co_return Answer{.grant = {}, .reason = reason};
  if (!question->is_open()) co_return answer_of(*question);
  if (held_ >= kMostHeld) co_return Answer{.grant = {}, .reason = kTooManyQuestions};
  const Waiting waiting(*this, question);
  const std::uint64_t policy = policy_number_;
  while (question->is_open() && policy == policy_number_) {
    if (std::chrono::steady_clock::now() >= question->until) {
      end(question, How::kExpired);
      break;
    }
    if (has_left(client.native_handle())) co_return Answer{.grant = {}, .reason = kClientLeft};
    const auto look = std::chrono::steady_clock::now() + kLookEvery;
    co_await question->changed.wait_until(std::min(look, question->until));
  }
  co_return answer_of(*question);
}

const char* Questions::word_for(How how) {
  switch (how) {
    case How::kAllowed: return "allowed";
    case How::kDenied: return "denied";
    case How::kExpired: return "expired";
    case How::kDecided: return "decided";
    case How::kOpen: break;
  }
  return "";
}

Questions::Answer Questions::answer_of(const Question& question) {
  switch (question.how) {
    case How::kAllowed: return {.grant = question.grant, .reason = nullptr};
    case How::kDenied: return {.grant = {}, .reason = kAnswerDenied};
    case How::kExpired: return {.grant = {}, .reason = kNotAnswered};
    case How::kOpen:
    case How::kDecided: break;
  }
  return {};
}

Questions::QuestionPtr Questions::find_or_make(const Destination& destination,
                                               const char*& reason) {
  end_expired();
  if (const auto found = all_.find(destination); found != all_.end()) return found->second;
  Grant grant = grant_for(destination.first, destination.second);
  // Nobody but the operator could allow it.
  const bool may_be_allowed =
      grant != nullptr &&
      policies_->check_allowed({std::string(policy::kOwnRules), grant->rules().text()});
  if (!may_be_allowed) {
    reason = "not_in_policy";
    return nullptr;
  }
  make_room();
  const auto id = os::random_bytes(kIdBytes);
  if (open() >= kMostOpen || !id) {
    reason = kTooManyQuestions;
    return nullptr;
  }
  const auto made = std::make_shared<Question>(loop_);
  made->grant = std::move(grant);
  made->until = std::chrono::steady_clock::now() + limits_.open;
  made->shown = {.id = sha256_hex(*id).substr(0, 2 * kIdBytes),
                 .host = destination.first,
                 .port = destination.second,
                 .at = system_clock().wall(),
                 .until = system_clock().wall() + limits_.open.count(),
                 .waiting = 0};
  all_[destination] = made;
  return made;
}

// A question whose client has left gives way to one whose client waits.
void Questions::make_room() {
  if (open() < kMostOpen) return;
  const auto left = std::ranges::find_if(all_, [](const auto& entry) {
    return entry.second->is_open() && entry.second->shown.waiting == 0;
  });
  if (left != all_.end()) end(QuestionPtr(left->second), How::kExpired);
}

std::size_t Questions::open() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(all_, [](const auto& entry) { return entry.second->is_open(); }));
}

void Questions::end(const QuestionPtr& question, How how) {
  question->how = how;
  ended_.push_back({question->shown.id, word_for(how)});
  if (ended_.size() > kMostEnded) ended_.pop_front();
  const bool holds = how == How::kAllowed || how == How::kDenied;
  question->until = std::chrono::steady_clock::now() + limits_.answer_holds;
  if (!holds) std::erase_if(all_, [&](const auto& entry) { return entry.second == question; });
  question->changed.set();
  dirty_ = true;
  to_write_.set();
}

void Questions::end_expired() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<QuestionPtr> over;
  for (const auto& [destination, question] : all_) {
    if (now >= question->until) over.push_back(question);
  }
  for (const QuestionPtr& one : over) {
    if (one->is_open()) {
      end(one, How::kExpired);
    } else {
      std::erase_if(all_, [&](const auto& entry) { return entry.second == one; });
    }
  }
}

void Questions::answer(const std::string& id, bool allowed) {
  end_expired();
  const auto found = std::ranges::find_if(all_, [&](const auto& entry) {
    return entry.second->shown.id == id && entry.second->is_open();
  });
  if (found == all_.end()) return;
  end(QuestionPtr(found->second), allowed ? How::kAllowed : How::kDenied);
}

void Questions::policy_changed(const Decides& decides) {
  ++policy_number_;
  std::vector<QuestionPtr> present;
  for (const auto& [destination, question] : all_) present.push_back(question);
  for (const QuestionPtr& one : present) {
    if (!one->is_open()) continue;
    if (decides(one->shown.host, static_cast<std::uint16_t>(one->shown.port))) {
      end(one, How::kDecided);
    } else {
      one->changed.notify();
    }
  }
}

asio::awaitable<void> Questions::keep_written() {
  for (;;) {
    if (!dirty_) {
      co_await to_write_.wait();
    }
    to_write_.reset();
    write();
    co_await sleep_for(kBetweenWrites);
  }
}

void Questions::write() {
  if (!dirty_) return;
  wire::AskedFile file;
  for (const auto& [destination, question] : all_) {
    if (question->is_open()) file.open.push_back(question->shown);
  }
  std::ranges::sort(file.open, [](const auto& a, const auto& b) {
    return std::tie(a.at, a.id) < std::tie(b.at, b.id);
  });
  file.ended.assign(ended_.begin(), ended_.end());
  // If the disk is full, nobody learns of the question, and it ends by its time.
  dirty_ = !os::replace_file(directory_, file_, wire::encode(file), kAskedMode);
  exists_ = exists_ || !dirty_;
  // The daemon removes a sandbox's socket before its files. A file that is made after that belongs
  // to nobody.
  if (::faccessat(directory_, keeper_.c_str(), F_OK, 0) != 0)
    ::unlinkat(directory_, file_.c_str(), 0);
}

}  // namespace cay::gate
