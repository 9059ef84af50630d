// RequestCourse collects the course of one request for the log: its status, what it acted on,
// whether it lasts, and how it ended.
#pragma once
#include <functional>
#include <string>
#include <utility>

namespace cay::server {

class RequestCourse {
 public:
  // Called when the request becomes what lasts, or before it may change something, and at most
  // once.
  void on_begin(std::function<void()> told) { on_begin_ = std::move(told); }
  // The request may change something from here on.
  void act() {
    begun_ = true;
    if (const auto told = std::exchange(on_begin_, nullptr)) told();
  }
  // The request becomes what lasts: a WebSocket, a tunnel, a stream or a long answer.
  void last() {
    lasts_ = true;
    act();
  }
  // The request became a WebSocket or a tunnel.
  void become() {
    status_ = kUpgraded;
    last();
  }
  // Only the first answer was sent.
  void answer(int status) {
    if (status_ == 0) status_ = status;
  }

  void note_link(std::string id) { link_ = std::move(id); }
  void note_subject(std::string what) { subject_ = std::move(what); }
  void note_reason(const std::string& reason) {
    if (status_ == 0) reason_ = reason;
  }
  void note_end(std::string how) {
    if (end_.empty()) end_ = std::move(how);
  }

  bool begun() const { return begun_; }
  bool lasts() const { return lasts_; }
  int status() const { return status_; }
  const std::string& link() const { return link_; }        // its id, if one let the caller in
  const std::string& subject() const { return subject_; }  // what the path does not name
  const std::string& reason() const { return reason_; }    // of a refusal before the handler
  const std::string& end() const { return end_; }          // how it ended, if somebody noted it

 private:
  static constexpr int kUpgraded = 101;

  std::function<void()> on_begin_;
  bool begun_ = false, lasts_ = false;
  int status_ = 0;
  std::string link_, subject_, reason_, end_;
};

}  // namespace cay::server
