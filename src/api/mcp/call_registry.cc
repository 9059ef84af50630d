#include "api/mcp/call_registry.h"

#include <utility>

namespace cay::api::mcp {
namespace {

std::string caller_of(const Principal& who) { return who.tenant.get() + "/" + who.key_name; }

}  // namespace

CallRegistry::Name CallRegistry::name_of(const Principal& who, std::string session,
                                         const codec::json::value& id) {
  return {caller_of(who), std::move(session), codec::write(id)};
}

std::unique_ptr<CallRegistry::Place> CallRegistry::add(Name name, Event& cancelled) {
  return std::make_unique<Place>(*this, calls_.emplace(std::move(name), &cancelled));
}

void CallRegistry::cancel(const Name& name) {
  const auto [begin, end] = calls_.equal_range(name);
  for (auto at = begin; at != end; ++at) at->second->set();
}

void CallRegistry::end_session(const Principal& who, const std::string& session) {
  const std::string caller = caller_of(who);
  for (auto at = calls_.lower_bound({caller, session, {}}); at != calls_.end(); ++at) {
    if (at->first.caller != caller || at->first.session != session) break;
    at->second->set();
  }
}

}  // namespace cay::api::mcp
