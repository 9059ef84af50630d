// ConnectionRecord describes an open connection to the rest of the gate. It has the facts that the
// connection was allowed for, and counts its bytes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gate/decisions.h"
#include "gate/sockets.h"
#include "policy/policy.h"

namespace cay::gate {

// Reason words of decisions that several parts use. The first are of questions
// (questions.h).
inline constexpr const char* kAnswerDenied = "answer_denied";
inline constexpr const char* kNotAnswered = "not_answered";
inline constexpr const char* kTooManyQuestions = "too_many_questions";
inline constexpr const char* kClientLeft = "client_left";
inline constexpr const char* kGateFailed = "gate_failed";
inline constexpr const char* kTooManyNewNames = "too_many_new_names";
inline constexpr const char* kBytesUsedUp = "bytes_used_up";
inline constexpr const char* kNamesNoHost = "names_no_host";

// The facts that a connection is judged by.
struct Facts {
  std::vector<std::string> names;    // that the sandbox was given this address for
  std::optional<std::string> shown;  // the host that its bytes name
  Endpoint to;
  // Somebody's answer allowed it (questions.h). Null: there was no question.
  std::shared_ptr<const policy::Policy> granted{};
};

struct ConnectionRecord {
  // A host that it was allowed for, and the line of that decision.
  struct Host {
    Facts facts{};
    std::string name{};
    Decisions::Line line{};
  };
  // The latest is the last, and its line counts what moves. Requests may name several hosts.
  std::vector<Host> hosts{};
  bool inspects_names = false;  // its first bytes are judged, though no rule required a name
  std::uint64_t sent = 0, received = 0;
  std::uint64_t reported_sent = 0, reported_received = 0;  // already counted in the line
  std::function<void()> cut{};                             // resets the connection at once
};

// The decision about a connection.
struct ConnectionVerdict {
  Facts facts;
  std::string host;
  std::string reason;           // why it does not go on; empty: it does
  bool refused = false;         // by a rule; with a reason and without this, something failed
  std::string rule;             // that decided
  std::uint64_t by_policy = 0;  // the number of the policy that decided
  policy::Proof proof = policy::Proof::kNone;  // how the host was named
  std::size_t proof_size = 0;                  // how many of the first bytes that took
  bool inspect_late = false;  // no name was required, and one that its bytes show still counts

  // Whether a question ended in the refusal.
  bool was_asked() const {
    return reason == kAnswerDenied || reason == kNotAnswered || reason == kTooManyQuestions ||
           reason == kClientLeft;
  }
  void refuse(const char* why) {
    reason = why;
    refused = true;
  }
  void allow(std::string by_rule) {
    reason.clear();
    refused = false;
    rule = std::move(by_rule);
  }
  Decisions::What decision() const {
    return {.host = host,
            .address = facts.to.address.text(),
            .port = facts.to.port,
            .allowed = !refused,
            .reason = reason,
            .rule = rule};
  }
};

}  // namespace cay::gate
