// ByteMeter: shows the progress of a long transfer on a terminal, and nothing of a short one.
#pragma once
#include <chrono>
#include <string>

#include "cay/client.h"

namespace cay::cli {

class ByteMeter {
 public:
  // `done`: the verb of the line, "copied". `quiet`: it shows nothing.
  ByteMeter(std::string done, bool quiet);
  ~ByteMeter() { clear(); }
  ByteMeter(const ByteMeter&) = delete;
  ByteMeter& operator=(const ByteMeter&) = delete;

  void show(const sdk::Progress& moved);
  // Takes the line back from the terminal.
  void clear();

 private:
  std::string done_;
  bool on_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace cay::cli
