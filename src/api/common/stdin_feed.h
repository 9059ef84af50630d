// StdinFeed: the input of one session that waits for its command, bounded in bytes. So the session
// can go on reading its client's frames (kill, close, pings) while the command reads nothing.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "async/event.h"
#include "async/mutex.h"
#include "async/scope.h"
#include "core/cay.h"
#include "model/command.h"
#include "model/principal.h"

namespace cay::api {

// The input that all sessions of the daemon hold together, and the order of writers to one
// command's stdin.
class InputRoom {
 public:
  static constexpr std::size_t kMost = 256u << 20;
  explicit InputRoom(std::size_t most = kMost) : most_(most) {}

  std::size_t held() const { return held_; }

 private:
  friend class StdinFeed;
  bool fits(std::size_t bytes) const { return held_ + bytes <= most_; }
  void take(std::size_t bytes) { held_ += bytes; }
  void give(std::size_t bytes);
  std::shared_ptr<Mutex> turn_of(const std::string& command, const asio::any_io_executor& executor);

  std::size_t most_;
  std::size_t held_ = 0;
  std::set<Event*> waiting_;
  std::map<std::string, std::weak_ptr<Mutex>> turns_;
};

class StdinFeed {
 public:
  static constexpr std::size_t kMost = 64u << 20;

  StdinFeed(std::shared_ptr<InputRoom> room, asio::any_io_executor executor)
      : room_(std::move(room)), changed_(executor), telling_(std::move(executor)) {}
  ~StdinFeed() { drop(); }
  StdinFeed(const StdinFeed&) = delete;
  StdinFeed& operator=(const StdinFeed&) = delete;

  // Waits while this session or the daemon holds too much. A feed that holds nothing takes any.
  asio::awaitable<void> push(Bytes bytes);
  // The end of input, after what was pushed.
  void push_end();
  // No more is pushed; what waits is still written.
  void close();
  // The command takes nothing more: forgets what waits, now and later.
  void drop();

  // Writes what is pushed, in order, until close() and all is written. A second session that feeds
  // the same command waits for its turn. The error of write_whole_stdin: what waited is forgotten;
  // it may be run again.
  Task<void> run(core::Cay& cay, Principal who, std::string sandbox, CommandId id);

 private:
  struct Piece {
    Bytes bytes;
    bool end = false;
  };
  void forget();
  void tell();

  std::shared_ptr<InputRoom> room_;
  std::deque<Piece> pieces_;
  std::size_t held_ = 0;  // with what is being written
  bool closed_ = false;
  bool dropped_ = false;
  bool alone_ =
      false;  // what is being written is the last that there is, as far as the keeper knows
  Event changed_;
  std::function<void()> say_more_;  // to the keeper, should we end before what is being written is
                                    // taken; set by run()
  Scope telling_;
};

}  // namespace cay::api
