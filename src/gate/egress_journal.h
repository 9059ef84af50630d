// EgressJournal: one sandbox's record of what was decided and what moved, and the quota of bytes
// that it uses up.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "async/event.h"
#include "gate/byte_quota.h"
#include "gate/connection_record.h"
#include "gate/decisions.h"
#include "gate/dns_name_budget.h"
#include "gate/gate_context.h"
#include "gate/handed_over.h"

namespace cay::gate {

class EgressJournal {
 public:
  EgressJournal(GateContext& context, const std::string& sandbox_id, const policy::Choice& choice);

  // Records a decision. `line` then counts what its connection moves.
  void note(const Decisions::What& what, Decisions::Line* line = nullptr);
  void note_found(const Decisions::What& what);
  void note_asked(const Decisions::What& what);
  void note_moved(const Decisions::Line& line, std::uint64_t sent, std::uint64_t received);
  void go_by(const policy::Choice& choice);

  // Lists a connection while the entry lives. Its end reports what the connection moved.
  class Entry {
   public:
    Entry(EgressJournal& journal, ConnectionRecord& record);
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();

   private:
    EgressJournal& journal_;
    ConnectionRecord& record_;
  };
  const std::set<ConnectionRecord*>& open() const { return open_; }
  HandedOver& handed_over() { return handed_over_; }
  // Adds what moved since the last report to the connection's line.
  void report(ConnectionRecord& record);

  ByteQuotas& quotas() { return quotas_; }
  // Resets every connection, because the quota is used up.
  void end_all();
  // Whether the name may be looked up: a known one, or a new one that the budget and the quota
  // cover. If not, a line records it.
  bool may_look_up(const std::string& name);

  // Loops that the sandbox's scope runs: reports of open connections, and the file of decisions.
  asio::awaitable<void> report_open();
  asio::awaitable<void> keep_written();
  void write() { static_cast<void>(decisions_.write()); }
  void close() { decisions_.close(); }

 private:
  Decisions decisions_;
  Event changed_;  // there is something to write
  ByteQuotas quotas_;
  bool ended_ = false;  // with the quota
  std::set<ConnectionRecord*> open_;
  Event opened_;
  HandedOver handed_over_;
  DnsNameBudget new_names_;
};

}  // namespace cay::gate
