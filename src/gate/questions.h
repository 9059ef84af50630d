// Questions: destinations that no rule of a sandbox's policy decides, where the policy has `ask`
// (decision 0064). Each connection to such a destination is held until somebody answers, the
// policy changes, or the time is over. Connections to the same host and port share a question.
//
// Open questions are in DATA/gate/ID.questions for the daemon (wire/network_questions.h). They are
// of this process: a killed gate resets what it held, and the next one begins without questions.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "async/event.h"
#include "base/clock.h"
#include "gate/connection_record.h"
#include "policy/catalogue.h"
#include "wire/network_questions.h"

namespace cay::gate {

// A permission for one destination, as a policy of one rule.
using Grant = std::shared_ptr<const policy::Policy>;

class Questions {
 public:
  static constexpr std::size_t kMostOpen = 16;
  static constexpr std::size_t kMostHeld = 64;  // connections of all questions of a sandbox
  static constexpr std::size_t kMostEnded = 64;
  // From the first connection on. The answer then holds for that long, for a program that tries
  // again or opens several connections.
  struct Limits {
    Millis open{120'000};
    Millis answer_holds{60'000};
  };

  // `directory`: DATA/gate. Removes the questions of an earlier gate.
  Questions(asio::any_io_executor loop, int directory, const std::string& sandbox_id,
            std::shared_ptr<const policy::Catalogue> policies, Limits limits);
  ~Questions();

  struct Answer {
    Grant grant{};                 // of an allowed one
    const char* reason = nullptr;  // of a refused one
    // Neither: the policy changed, and the connection is to be judged anew.
    bool policy_changed() const { return grant == nullptr && reason == nullptr; }
  };
  // Holds `client` until there is an answer. `host` is a name in lower case, or an address.
  asio::awaitable<Answer> ask(Descriptor& client, std::string host, std::uint16_t port);

  // The first one counts. One that is not open is ignored.
  void answer(const std::string& id, bool allowed);
  // Wakes what is held, because the policy is another one. A question that the policy decides now
  // ends.
  using Decides = std::function<bool(const std::string& host, std::uint16_t port)>;
  void policy_changed(const Decides& decides);

  asio::awaitable<void> keep_written();
  void write();

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Destination = std::pair<std::string, std::uint16_t>;
  // kDecided: by the policy, which was changed meanwhile.
  enum class How : std::uint8_t { kOpen, kAllowed, kDenied, kExpired, kDecided };
  struct Question {
    explicit Question(asio::any_io_executor loop) : changed(std::move(loop)) {}
    wire::OpenQuestion shown{};
    Grant grant{};  // for the case that it is allowed
    Time until{};   // open; once it was answered: the answer holds
    How how = How::kOpen;
    bool is_open() const { return how == How::kOpen; }
    Event changed;
  };
  using QuestionPtr = std::shared_ptr<Question>;
  class Waiting;

  // Null, with the reason: none can be made.
  QuestionPtr find_or_make(const Destination& destination, const char*& reason);
  void end(const QuestionPtr& question, How how);
  std::size_t open() const;
  void end_expired();
  void make_room();
  static Answer answer_of(const Question& question);
  static const char* word_for(How how);

  asio::any_io_executor loop_;
  const int directory_;
  const std::string file_, keeper_;
  const std::shared_ptr<const policy::Catalogue> policies_;
  const Limits limits_;
  std::map<Destination, QuestionPtr> all_;  // open ones, and those whose answer holds
  std::deque<wire::EndedQuestion> ended_;
  std::size_t held_ = 0;
  std::uint64_t policy_number_ = 0;
  bool dirty_ = false, exists_ = false;
  Event to_write_;
};

}  // namespace cay::gate
