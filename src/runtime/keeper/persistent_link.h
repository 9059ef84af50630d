// PersistentLink: a Link that comes back. It dials, greets and checks the peer, and does so again
// with back-off whenever the link is lost. It ends when it is closed or the peer is known to be
// dead.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/keeper/dialer.h"
#include "runtime/keeper/link.h"
#include "runtime/keeper/link_events.h"

namespace cay::runtime {

// The error for EMFILE and ENFILE, which is reported at once.
Error no_descriptors(int os_errno);

// Counts a peer's breaches of the protocol. Three within a minute are too many.
class BreachCount {
 public:
  // Adds one. Returns whether they are too many.
  bool add();

 private:
  int count_ = 0;
  Deadline first_{};
};

class PersistentLink : public std::enable_shared_from_this<PersistentLink> {
 public:
  struct Config {
    std::string peer;  // for messages: "the launcher"
    Dialer dial;
    wire::Hello hello;  // ours
    std::string key{};  // both sides prove that they hold it; empty: the transport carries user ids
    // Returns an error if the peer that greeted is not the wanted one. If `mortal`, the error ends
    // the link for good. Otherwise callers get it while the link is tried again.
    std::function<Result<void>(const wire::Hello&)> check;
    bool mortal = true;  // a keeper: nobody listening means dead. A launcher comes back
    Error unreachable;   // what callers get when there is no link within their limit
    Millis greet_limit{5000};
    Millis longest_pause{1000};  // of the back-off
  };

  static std::shared_ptr<PersistentLink> create(asio::any_io_executor loop, Config config);

  // Begins to connect. Handlers are set before.
  void start();

  // The live link, waiting for one up to `limit`. kLost (keeper_lost) once dead; Config.unreachable
  // at the limit; the check's error while the wrong peer answers.
  Task<std::shared_ptr<Link>> link(Millis limit);

  // The peer's last HELLO.
  const wire::Hello& theirs() const { return theirs_; }

  const wire::Hello& ours() const { return config_.hello; }

  // Another connection to the same peer.
  Task<StreamSocket> dial() const { return config_.dial(); }
  // The peer has closed the connection, whether we have read so far or not.
  bool hung_up() const { return link_ == nullptr || link_->hung_up(); }

  // Sets the handler of frames on channel 0. It gets earlier frames at once.
  void on_event(LinkEvents::Handler handler) { events_.set(std::move(handler)); }
  // Called once, on the loop, when the peer is dead; not after close().
  void on_death(std::function<void(std::string reason)> handler) { on_death_ = std::move(handler); }

  // Known dead (from another witness): everything that waits fails with kLost and the reason.
  void die(std::string reason);
  // Ours to end: everything that waits fails with `why`.
  void close(Error why);
  bool ended() const { return ended_; }
  const Error& why() const { return why_; }  // of its end
  // Announces that our own action is about to end it: callers then get `why`, however the end
  // shows. Nothing: it is not about to end.
  void expect_end(std::optional<Error> why) { expected_ = std::move(why); }

  // As Link::part(), of this link and of those to come.
  void part();

  bool connected() const { return link_ != nullptr && link_->alive(); }
  // How often there was a link.
  std::uint64_t connections() const { return connections_; }

 private:
  PersistentLink(asio::any_io_executor loop, Config config)
      : loop_(std::move(loop)), config_(std::move(config)), changed_(loop_) {}
  asio::awaitable<void> run();
  Task<std::shared_ptr<Link>> connect();
  void end(Error why);

  asio::any_io_executor loop_;
  Config config_;
  std::shared_ptr<Link> link_;
  wire::Hello theirs_;
  LinkEvents events_;
  std::function<void(std::string)> on_death_;
  bool met_ = false;  // there was a link once
  bool ended_ = false;
  bool parting_ = false;
  Error why_;                      // once ended
  std::optional<Error> expected_;  // why it is about to end
  std::optional<Error> refusal_;   // why nobody is reached now, if it is no matter of waiting
  std::uint64_t connections_ = 0;
  BreachCount breaches_;
  Event changed_;
};

}  // namespace cay::runtime
