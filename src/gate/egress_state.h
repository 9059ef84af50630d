// EgressState holds the data that the parts of one sandbox's way out share.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gate/egress_journal.h"
#include "gate/egress_policy.h"
#include "gate/gate_context.h"
#include "gate/inspection_queue.h"
#include "gate/names.h"
#include "gate/questions.h"

namespace cay::gate {

struct EgressState {
  EgressState(GateContext& gate, const std::string& sandbox_id, EgressPolicy policy_of_now);

  // Whether the connection would reach a fenced host without the broker: by plain HTTP, or without
  // a name at an address of that host. `shown` is the name from the first bytes.
  bool is_past_a_fence(const Facts& facts, const std::string& shown) const;
  // Whether a question about the host could be answered. A host of a proxy rule or fence is the
  // broker's, and an address in the place of a name is none.
  bool may_ask_about(const std::string& host) const;
  // Whether the policy decides without a question, for a connection that shows the host.
  bool policy_decides(const std::string& host, std::uint16_t port) const;
  std::vector<std::string> ruled_names_of(const IpAddress& address) const {
    return ruled_names.of(address, Names::kMost);
  }

  GateContext& context;
  const std::string id;
  EgressPolicy policy;
  std::uint64_t policy_number = 0;  // counts changes
  // The names of each address. Those of rules and fences are listed again in `ruled_names`, so that
  // no other names push them out.
  Names names, ruled_names;
  Names asked_names;  // and their stand-ins: names that nobody has allowed yet
  Questions questions;
  EgressJournal journal;
  InspectionQueue inspections;
};

}  // namespace cay::gate
