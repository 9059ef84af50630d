// RelayNotes reports the course of one relay to the gate, for `cay net`. Important events go at
// once, and byte counts once a second or when there are many.
#pragma once
#include <chrono>
#include <string>

#include "vault/relay.h"

namespace cay::vault {

class RelayNotes {
 public:
  RelayNotes(Tell tell, const std::string& host, std::uint16_t port);

  // Sets the server that the following notes describe.
  void of(const std::string& host, std::uint16_t port);
  std::string& address() { return word_.address; }
  // Records a request for this rule that has not been sent. Port and host are the rule's, or those
  // of the connection.
  void asked_of(const std::string& rule, const std::string& host, std::uint16_t port);

  void sent(std::size_t bytes) { word_.sent += bytes; }
  void received(std::size_t bytes) { word_.received += bytes; }
  // Records that the request was sent to the server.
  void opened();
  // The answer did not come; a guest that left is no news.
  void failed(const std::string& reason);
  void refuse(const Error& why);

  void flush();
  void flush_in_time();
  // Ends the notes: nothing more is sent to the gate.
  void stop() { stopped_ = true; }

 private:
  Tell tell_;
  wire::BrokerWord word_;
  std::string rule_;   // that the request at hand names, while it goes nowhere
  bool news_ = false;  // there is more to report than byte counts
  bool stopped_ = false;
  std::chrono::steady_clock::time_point told_at_ = std::chrono::steady_clock::now();
};

}  // namespace cay::vault
