// DestinationWatch: while a run lasts, finds the destinations that the agent's sandboxes want to
// reach and no rule decides (decision 0064), and passes somebody's answers on.
//
// It works on a thread of its own, so that the run goes on while somebody reads the question.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/loop/agent.h"

namespace cay::cli {

struct Destination {
  std::string sandbox, id;
  std::string host;  // as it is printed: a name, or an address
  std::string port, expires_at;
  std::string text() const { return host + ":" + port; }
};

// Reads the answer of GET …/network/questions. Throws ApiError where it is none.
std::vector<Destination> destinations_in(const std::string& sandbox, const std::string& body);

struct DestinationAnswer {
  bool allowed = false;
  bool always = false;  // by a rule of the sandbox's policy
  bool operator==(const DestinationAnswer&) const = default;
};
// Reads a typed line: o or once, a or always, n or no. nullopt: something else.
std::optional<DestinationAnswer> destination_answer(std::string_view line);

// The functions that the watch calls, on its thread.
struct DestinationFace {
  // Sends a request to the daemon and returns the body. Throws ApiError.
  std::function<std::string(const std::string& method, const std::string& target,
                            const std::string& json)>
      request;
  // Returns the answer. nullopt: somebody else may answer, or nobody does. `is_over` is true once
  // the run has ended or the question is closed.
  std::function<std::optional<DestinationAnswer>(const Destination&,
                                                 const std::function<bool()>& is_over)>
      answer;
  std::function<void(std::string_view)> note;  // a line for people
};

class DestinationWatch {
 public:
  explicit DestinationWatch(DestinationFace face) : face_(std::move(face)) {}

  // Adds a sandbox. Any thread.
  void add(const std::string& sandbox);

  // Watches while it lives.
  class Watching {
   public:
    explicit Watching(DestinationWatch& watch)
        : thread_([&watch](const std::stop_token& stop) { watch.work(stop); }) {}

   private:
    std::jthread thread_;
  };

 private:
  void work(const std::stop_token& stop);
  void look(const std::string& sandbox, const std::stop_token& stop);
  bool is_open(const Destination& destination) const;

  DestinationFace face_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> sandboxes_;
  std::set<std::string> seen_;  // questions that were shown; of the watch's thread alone
};

// DestinationFeed: passes events on, and adds each sandbox that a thread is bound to.
class DestinationFeed : public agent::Observer {
 public:
  // Both outlive it.
  DestinationFeed(agent::Observer& next, DestinationWatch& watch) : next_(next), watch_(watch) {}
  void on_event(const std::string& thread, const agent::ThreadEvent& event) override;
  void on_delta(const std::string& thread, const agent::Delta& delta) override;
  void on_tool_output(const std::string& thread, const std::string& call_id,
                      std::string_view bytes) override;

 private:
  agent::Observer& next_;
  DestinationWatch& watch_;
};

// Reads the answers in this terminal. The end of stdin refuses.
DestinationFace terminal_destinations(DestinationFace face);
// Writes a line of JSON for each: {"type":"network_asked",…}. Other programs answer.
DestinationFace json_destinations(DestinationFace face,
                                  std::function<void(std::string_view)> write);
// Refuses each at once, with a note that nobody can answer.
DestinationFace unattended_destinations(DestinationFace face);

}  // namespace cay::cli
