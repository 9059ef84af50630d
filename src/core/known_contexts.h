// KnownContexts: a cache of what core knows of contexts. All of it is found again in the drivers'
// marks and output.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/mutex.h"
#include "code/ledger.h"
#include "model/context.h"
#include "model/ids.h"

namespace cay::core {

// One driver.
struct KnownContext {
  KnownContext(const Context& context, const asio::any_io_executor& loop);
  void put(const std::string& run, ContextPlace at);
  // Takes over what was sent to the generations before.
  void follow(const KnownContext& older);
  std::optional<ContextPlace> place_of(const std::string& run) const;

  std::uint32_t generation;
  std::string language;
  CommandId command;
  std::uint64_t read_to;                       // the next evaluation begins behind
  std::uint64_t ledger_from;                   // its part of the driver's stderr likewise
  std::uint64_t cold_until;                    // evaluations before it may have no place here
  std::map<std::string, ContextPlace> places;  // evaluations, and where to look for them
  std::deque<std::string> order;               // of places
  Mutex writing;
  code::Ledger ledger;
  Mutex reading;  // of the ledger
};
using KnownContextPtr = std::shared_ptr<KnownContext>;
using ContextKey = std::pair<SandboxId, std::string>;  // the id of the context

class KnownContexts {
 public:
  explicit KnownContexts(asio::any_io_executor loop) : loop_(std::move(loop)) {}

  // Null: it is not known.
  KnownContextPtr find(const ContextKey& key) const;
  // The known one, unless `context` is a newer one.
  KnownContextPtr remember(const SandboxId& sandbox, const Context& context);
  void drop(const ContextKey& key);

 private:
  asio::any_io_executor loop_;
  std::map<ContextKey, KnownContextPtr> known_;
  std::deque<ContextKey> order_;
};

}  // namespace cay::core
