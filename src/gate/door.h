// Door: one sandbox's way out: what comes to the sockets that its keeper lent.
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/mutex.h"
#include "async/scope.h"
#include "base/token_bucket.h"
#include "gate/asked_names.h"
#include "gate/allowance.h"
#include "gate/both.h"
#include "gate/counted.h"
#include "gate/decisions.h"
#include "gate/handed_over.h"
#include "gate/look_budget.h"
#include "gate/moving.h"
#include "gate/names.h"
#include "gate/pump.h"
#include "gate/reachable.h"
#include "gate/resolver.h"
#include "gate/socket_memory.h"
#include "gate/sockets.h"
#include "gate/upstream_proxy.h"
#include "gate/watchful.h"
#include "policy/catalogue.h"

namespace cay::gate {

class Handover;

// What all sandboxes' doors share.
struct House {
  asio::any_io_executor loop;
  int directory = -1;  // DATA/gate
  int rules = -1;      // DATA/rules
  std::shared_ptr<const policy::Catalogue> policies;
  Reachable reachable;
  Resolver resolver;
  PipePool pipes;
  std::size_t most_connections = 0;  // of all doors: as many as there are descriptors for
  SocketMemory memory;
  UpstreamProxy proxy{};
  std::uint64_t sent_most = 0, received_most = 0;  // of one sandbox in all: bytes; 0: without end
  std::size_t connections = 0, doors = 0;
  std::uint64_t held = 0;  // of `memory`, by all doors
  Watchful watchful{};
  Handover* handover = nullptr;  // null: there is no broker
};

class Door {
 public:
  static constexpr std::size_t kMostConnections = 1024;
  static constexpr double kNewPerSecond = 200;  // once kMostConnections came at once
  static constexpr std::size_t kDescriptorsOfOne = 6;  // of a connection: its two sockets, and a pipe each way
  static constexpr std::size_t kMostQuestions = 128;  // being answered at once

  // `sockets` and `policy` as wire::Lent tells.
  Door(House& house, const std::string& sandbox_id, const std::string& policy, std::vector<UniqueFd> sockets);
  ~Door();

  // Whether one more connection may come: a sandbox with many must not use up the descriptors of those with few. The
  // last quarter of all is for doors that have less than their share of it.
  static bool has_room(std::size_t own, std::size_t all, std::size_t most, std::size_t doors);

  // Serves until it is cancelled; what is open is then reset.
  asio::awaitable<void> run();

  // Goes by what the daemon wrote into DATA/rules, from now on: what is open and would not be let through any more is reset before it returns.
  void look_at_rules();

  // Resets what is open past a fence that came later.
  void look_at_fences();

 private:
  // door.cc
  asio::awaitable<void> accept_all(std::size_t which);
  asio::awaitable<void> keep_written();
  void note(const Decisions::What& what, Decisions::Line* line = nullptr);
  // One connection's part in what is bounded, for as long as it is open: half of it too, and until what was sent was taken.
  class Place {
   public:
    Place(Door& door, Buffers buffers);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();
    const Buffers buffers;

   private:
    Door& door_;
    const Counted own_, of_all_;
    const std::uint64_t cost_;
  };
  std::shared_ptr<const Place> place_for_one();
  // To be held while rules are looked at, and not while anything is awaited: charges what that takes. Whoever comes meanwhile, or while what was spent
  // before is not earned yet, waits his turn.
  class Look {
   public:
    Look(Door& door, Mutex::Guard turn) : door_(&door), turn_(std::move(turn)), begun_(LookBudget::Clock::now()) {}
    Look(Look&& other) noexcept : door_(std::exchange(other.door_, nullptr)), turn_(std::move(other.turn_)), begun_(other.begun_) {}
    Look& operator=(Look&&) = delete;
    ~Look() { end(); }
    void end();

   private:
    Door* door_;
    Mutex::Guard turn_;
    LookBudget::Clock::time_point begun_;
  };
  asio::awaitable<Look> look_at_rules_in_turn();
  // Whether a name may be looked up for it: one that was asked for before, or one of so many new ones, whose bytes count as sent. If not, a line says so.
  bool may_look_up(const std::string& name);
  static constexpr const char* kTooManyNewNames = "too_many_new_names";
  static constexpr const char* kBytesUsedUp = "bytes_used_up";
  static constexpr const char* kNamesNoHost = "names_no_host";
  void shape_listeners();

  // flow.cc
  asio::awaitable<void> serve(UniqueFd fd, std::shared_ptr<const Place> place);
  struct Verdict {
    Facts facts;
    std::string host;
    std::string reason;    // why not; empty: go on
    bool refused = false;  // by a rule; else it failed
    std::string rule;      // that said so
    std::uint64_t by = 0;  // standing_.number
    policy::Proof proof = policy::Proof::kNone;  // that it was let through by
    std::size_t proof_size = 0;                  // how many of the first bytes that is
    bool may_show = false;  // nothing was asked for, and what its first bytes show of names counts all the same
    void refuse(const char* why) {
      reason = why;
      refused = true;
    }
    void allow(std::string by_rule) {
      reason.clear();
      refused = false;
      rule = std::move(by_rule);
    }
  };
  static Decisions::What what_of(const Verdict& verdict, std::uint16_t port);
  class Telling;
  void tell(Moving& moving);
  // Resets all that is open: the sandbox has moved what it may.
  void end_all();
  asio::awaitable<void> tell_all();
  void look_at(Verdict& verdict) const;
  asio::awaitable<Verdict> decide(Descriptor& guest, Endpoint meant, std::string& first);
  // Whether the first bytes name a host, which `out` then has; if not, it is refused.
  asio::awaitable<bool> shows_host(Descriptor& guest, Verdict& out, policy::Proof proof, std::string& first);
  asio::awaitable<void> by_first_bytes(Descriptor& guest, Verdict& out, policy::Proof proof, std::string& first);
  asio::awaitable<void> connect(Descriptor guest, Verdict verdict, std::string first, Buffers buffers);
  // To a request that the policy refuses, in words; `first` is what came of it so far. Anything else is left to be reset.
  asio::awaitable<void> say_no(Descriptor& guest, const Verdict& verdict, std::string first);

  // way_out.cc
  enum class Then : std::uint8_t { kMoveAll, kEnded, kRefused, kAnswered, kBroken };
  // What a guest had said when its connection was let through.
  struct Said {
    std::string bytes;
    policy::Proof proof = policy::Proof::kNone;  // that it was let through by: so many of them
    std::size_t proof_size = 0;
  };
  asio::awaitable<void> way_out(std::shared_ptr<Both> both, Said first, Buffers buffers);
  asio::awaitable<Then> say(std::shared_ptr<Both> both, std::string bytes);  // kMoveAll, kBroken
  // `gone`: so many of the first bytes were said already.
  asio::awaitable<Then> request_by_request(std::shared_ptr<Both> both, std::string first, std::size_t gone = 0);
  asio::awaitable<void> until_answered(std::shared_ptr<Both> both, std::string behind, std::uint64_t before);
  asio::awaitable<Then> hello_by_hello(std::shared_ptr<Both> both, std::string first, std::size_t hello_size, std::size_t gone = 0);
  // Why a connection may not be asked for this host, too, which a line says; null: it may.
  asio::awaitable<const char*> why_not_for(std::shared_ptr<Both> both, std::string host);
  // Gives `reason` back.
  const char* refuse_more(const Both& both, const std::string& host, const char* reason, const std::string& rule = {});

  // late_inspection.cc
  asio::awaitable<Then> inspect_late(std::shared_ptr<Both> both, std::string bytes);

  // door_policy.cc
  policy::Choice chosen();
  // False: what the daemon wrote of proxy rules is there, and cannot be read.
  bool take_routes();
  policy::Verdict ask(const Facts& facts) const;
  // Whether what is let through there depends on names, so that one which first bytes show may change it.
  bool goes_by_names(const Endpoint& to) const;
  const char* why_not(const Facts& facts, const policy::Verdict& said) const;
  // Whether the policy has the host of a fence.
  bool has_fenced(const std::string& host, std::uint16_t port) const;
  // Whether it would reach such a host otherwise than by the broker: by plain HTTP, or without a name where the address is one of its. `shown`: see whose_is.
  bool is_past_a_fence(const Facts& facts, const std::string& shown) const;
  std::vector<std::string> ruled_names_of(const IpAddress& address) const { return ruled_.of(address, Names::kMost); }
  enum class Whose : std::uint8_t {
    kPolicys,  // whose it is, the policy says
    kBrokers,
    kNobodys,  // it may be for a host with a fence, and does not show whom it is for
  };
  // `host` is what it showed, where that was looked at; empty at the broker's own address.
  asio::awaitable<Whose> whose_is(Descriptor& guest, Endpoint meant, std::string& first, std::string& host);

  // handed.cc
  asio::awaitable<void> hand_over(Descriptor guest, Endpoint meant, std::string host, std::string first, Buffers buffers);

  // dns.cc
  struct Asker {
    sockaddr_storage at{};
    socklen_t size = sizeof at;
  };
  // One that is being answered.
  class Question {
   public:
    explicit Question(Door& door) : door_(door), counted_(door.questions_) {}
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;
    ~Question() { door_.fewer_questions_.set(); }

   private:
    Door& door_;
    const Counted counted_;
  };
  asio::awaitable<void> answer_datagrams(std::size_t which);
  asio::awaitable<void> answer_datagram(std::size_t which, std::string message, Asker from);
  asio::awaitable<void> answer_stream(Descriptor& guest);
  asio::awaitable<std::string> answer(std::string message, std::size_t room);

  House& house_;
  const std::string id_, lent_;
  struct Standing {
    policy::Choice choice;
    std::shared_ptr<const policy::Policy> rules;
    bool allowed = false;  // the policy itself, by the operator
    const char* not_allowed = "policy_not_allowed";  // why, where it is not
    bool opens_rules = false;  // proxy rules open their hosts beside it: not where it is `off`
    std::uint64_t number = 0;
  };
  Standing standing_of(policy::Choice choice) const;
  Standing standing_;
  std::vector<Descriptor> sockets_;
  Names names_, ruled_;  // ruled_: those of rules and fences again, which no other names push out
  Decisions decisions_;
  Allowances left_;
  bool ended_ = false;  // with them
  Event written_;  // there is something to write
  std::set<Moving*> moving_;
  Event moves_;    // there is one
  HandedOver handed_;
  Scope children_;
  std::size_t connections_ = 0;
  std::uint64_t held_ = 0;  // of the sockets' memory
  std::optional<Buffers> listening_;  // what the listeners have
  TokenBucket new_ones_{kMostConnections, kNewPerSecond};
  std::size_t questions_ = 0;
  Event fewer_questions_;
  AskedNames new_names_;
  LookBudget looks_;
  Mutex looking_;
};

}  // namespace cay::gate
