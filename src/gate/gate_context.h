// GateContext holds the data that the ways out of all sandboxes share.
#pragma once
#include <cstdint>
#include <memory>

#include "gate/pump.h"
#include "gate/questions.h"
#include "gate/reachable.h"
#include "gate/resolver.h"
#include "gate/socket_memory.h"
#include "gate/upstream_proxy.h"
#include "gate/wakeful_loop.h"
#include "policy/catalogue.h"

namespace cay::gate {

class Handover;

struct GateContext {
  asio::any_io_executor loop;
  int directory = -1;  // DATA/gate
  int rules = -1;      // DATA/rules
  std::shared_ptr<const policy::Catalogue> policies;
  Reachable reachable;
  Resolver resolver;
  PipePool pipes;
  std::size_t most_connections = 0;  // of all sandboxes: as many as there are descriptors for
  SocketMemory memory;
  UpstreamProxy proxy{};
  std::uint64_t sent_most = 0, received_most = 0;  // bytes of one sandbox in all; 0: no limit
  std::size_t connections = 0, sandboxes = 0;      // at the moment
  std::uint64_t held_memory = 0;                   // of `memory`, by all sandboxes
  WakefulLoop wakeful{};
  Handover* handover = nullptr;  // null: there is no broker
  Questions::Limits question_limits{};
};

}  // namespace cay::gate
