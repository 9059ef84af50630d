// Events: writes the events of a call, each as a line of JSON.
#pragma once
#include "code/shell/io.h"

namespace cay::shell {

class Events {
 public:
  // `fd` stays open as long as this is used.
  explicit Events(int fd) : fd_(fd) {}

  void begin(const Id& run, const char* type);
  void member(const char* name, Text value);
  void number(const char* name, std::uint64_t value);
  void yes(const char* name);
  // The member `text`, and the exact bytes in `base64` if they are no UTF-8. Returns how many bytes
  // at its end may be the beginning of a character: these are left out, unless `last`.
  std::size_t output(Text bytes, bool last);
  // Ends the program if nobody can read it.
  void send();

 private:
  void name(const char* name);

  int fd_;
};

}  // namespace cay::shell
