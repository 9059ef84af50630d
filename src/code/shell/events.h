// Events: writes the events of a call, each as a line of JSON, and the ledger (code/ledger.h).
#pragma once
#include "code/shell/io.h"

namespace cay::shell {

class Events {
 public:
  // Both stay open as long as this is used.
  Events(int fd, int ledger) : fd_(fd), ledger_(ledger) {}

  void begin(const Id& run, const char* type);
  void member(const char* name, Text value);
  void number(const char* name, std::uint64_t value);
  void yes(const char* name);
  // The member `text`, and the exact bytes in `base64` if they are no UTF-8. Returns how many bytes
  // at its end may be the beginning of a character: these are left out, unless `last`.
  std::size_t output(Text bytes, bool last);
  // Ends the program if nobody can read it.
  void send();
  // Sends it to the ledger instead.
  void note();
  // The bytes of all events so far.
  std::uint64_t sent() const { return sent_; }

 private:
  void name(const char* name);

  int fd_;
  int ledger_;
  std::uint64_t sent_ = 0;
};

}  // namespace cay::shell
