// Server: the keeper's side of the wire. It accepts the daemon, sends HELLO, and hands requests to
// commands and files. It serves one daemon at a time: a new one that proves itself replaces the
// old.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "keeper/acceptor.h"
#include "keeper/command_requests.h"
#include "keeper/commands.h"
#include "keeper/connection.h"
#include "keeper/files.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"
#include "keeper/notes.h"
#include "keeper/outbox.h"
#include "keeper/pauser.h"
#include "keeper/peer_proof.h"
#include "keeper/readers.h"
#include "keeper/tunnels.h"
#include "wire/messages.h"

namespace cay::keeper {

class Server : public Outbox {
 public:
  Server(Loop& loop, const Context& context);

  struct Services {
    Commands* commands = nullptr;
    CommandRequests* requests = nullptr;
    Notes* notes = nullptr;
    Readers* readers = nullptr;
    Files* files = nullptr;
    Pauser* pauser = nullptr;
    Tunnels* tunnels = nullptr;
    std::function<wire::StatsMsg()> stats;
    // Ends everything inside; the argument runs when it is done.
    std::function<void(std::function<void()>)> shut_down;
    std::function<void()> exit;  // all is sent: the keeper may end
  };
  // Before the loop runs.
  void begin(Services services);

  void send(ReplyTo to, wire::Type type, std::string payload) override;
  void send_data(ReplyTo to, const wire::Data& data) override;
  void send_with(UniqueFd descriptor, ReplyTo to, wire::Type type) override;
  bool room() const override;
  void hurry(bool on) override;
  void event(wire::Type type, const std::string& payload) override;
  using Outbox::send;

 private:
  struct Peer {
    explicit Peer(PeerProof shown) : proof(std::move(shown)) {}
    PeerProof proof;
    std::uint64_t number = 0;
    std::unique_ptr<Connection> connection;
    bool greeted = false;      // it has sent HELLO and is proved
    bool for_sockets = false;  // a daemon that wants tunnels' sockets
    Timer greeting;            // time to get so far
  };

  void admit(UniqueFd fd);
  void on_frame(Peer& peer, wire::Frame frame);
  void greet(Peer& peer, const wire::Frame& frame);
  void pass_socket(Peer& peer, const wire::Frame& frame);
  void on_close(Peer& peer);
  void leave();
  void dispatch(ReplyTo to, wire::Type type, std::string_view payload);
  void list(std::uint32_t channel);
  void go_on_listing();
  template <class T, class Fn>
  void decoded(ReplyTo to, std::string_view payload, Fn&& fn);

  Loop& loop_;
  const Context& context_;
  Services services_;
  std::optional<Acceptor> acceptor_;
  bool passes_sockets_ = false;  // UNIX sockets do
  bool exiting_ = false;
  std::uint64_t next_number_ = 1;
  std::list<Peer> peers_;
  Peer* daemon_ = nullptr;
  std::map<std::uint32_t, std::string> listings_;  // channel -> the last id sent
};

}  // namespace cay::keeper
