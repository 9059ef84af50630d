// The local terminal: raw while a remote one is shown in it, and as it was on every way out.
#pragma once
#include <optional>

#include "cay/types.h"

namespace cay::cli {

// Size of the terminal behind fd; nullopt: it is none.
std::optional<sdk::TerminalSize> terminal_size(int fd);

// Raw mode of stdin's terminal. Put back by the destructor, and by restore_terminal() from
// anywhere.
class RawTerminal {
 public:
  RawTerminal();  // nothing happens if stdin is no terminal
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
};

// Puts the terminal back if it is raw. Safe in a signal handler.
void restore_terminal();

}  // namespace cay::cli
