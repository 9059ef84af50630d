// Lender: gives the gate the sockets on which the sandbox's way out begins. The keeper holds them
// for the sandbox's life and lends them to whichever gate connects. So a gate that is replaced
// finds them, and guests' connections wait meanwhile in their queues.
#pragma once
#include <cstdint>
#include <list>
#include <optional>

#include "keeper/acceptor.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"

namespace cay::keeper {

class Lender {
 public:
  Lender(Loop& loop, const Context& context);

 private:
  static constexpr std::size_t kMost = 4;  // one serves; another may just be taking over

  struct Borrower {
    UniqueFd fd;
    Watch watch;
  };

  void serve(UniqueFd fd);
  bool lend(int fd) const;

  Loop& loop_;
  const Context& context_;
  std::list<Borrower> borrowers_;
  std::optional<Acceptor> acceptor_;
};

}  // namespace cay::keeper
