// CallRegistry: the tool calls that are under way, so that a later request can cancel them.
//
// A session is only the name under which a client's calls stand here. It has no other state, so a
// session id stays good when the daemon restarts.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "async/event.h"
#include "codec/json.h"
#include "model/principal.h"

namespace cay::api::mcp {

class CallRegistry {
 public:
  // The id of one call: the caller's key, its session and its request's id.
  struct Name {
    std::string caller, session, request;
    auto operator<=>(const Name&) const = default;
  };
  static Name name_of(const Principal& who, std::string session, const codec::json::value& id);

  // Holds the call's place while it is under way.
  class Place {
   public:
    Place(CallRegistry& calls, std::multimap<Name, Event*>::iterator at) : calls_(calls), at_(at) {}
    ~Place() { calls_.calls_.erase(at_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    CallRegistry& calls_;
    std::multimap<Name, Event*>::iterator at_;
  };
  // `cancelled` is set when a request cancels the call. It outlives the place.
  std::unique_ptr<Place> add(Name name, Event& cancelled);
  // Cancels the call. One that is not under way is over already: nothing happens.
  void cancel(const Name& name);
  // Cancels all calls of a session.
  void end_session(const Principal& who, const std::string& session);

 private:
  std::multimap<Name, Event*> calls_;
};

}  // namespace cay::api::mcp
