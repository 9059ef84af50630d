// Both: a connection and its counterpart outside, how bytes go between them, and what the two directions tell each other.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "gate/first_answer.h"
#include "gate/first_bytes.h"
#include "gate/moving.h"
#include "gate/pump.h"
#include "gate/socket_bytes.h"

namespace cay::gate {

// Shared by its two directions: a cancelled one may end after the other.
struct Both {
  // `left` outlives it.
  Both(asio::any_io_executor loop, Descriptor inside, Descriptor outwards, Allowances& left)
      : guest(std::move(inside)), outside(std::move(outwards)), left(left), answered(loop), heard_out(std::move(loop)) {}

  Descriptor guest, outside;
  Allowances& left;  // of its sandbox
  Moving moved;
  bool broken = false;
  bool starved = false;  // ... by this process, which had no pipe
  // Where the guest's next bytes may wait for what the server says first: to what that is an answer (kNone: to nothing that is known yet), and what it was,
  // once it was said.
  std::optional<Proof> answers{};
  std::optional<FirstAnswer> answer{};
  Event answered;
  bool hears_meanwhile = false;  // the guest: to be woken by the answer
  std::string early{};  // said by the server already
  Event heard_out;      // the server has ended, or broke
  bool says_more = false;  // the guest, behind the connection's last request
};

enum class Way { kOut, kBack };

// Until that side ends, and the other was told so. When one direction breaks, the other is woken, and unwinds too.
asio::awaitable<void> one_way(std::shared_ptr<Both> both, Way way, PipePool& pipes, Buffers buffers);

// What was read otherwise than by one_way(): whether all of it may go on. If not, nothing does, for any connection of the sandbox.
bool may_pass(Both& both, Way way, std::size_t bytes);

// Both ends are woken, and unwind.
void break_off(Both& both);
// ... and are reset at once, with what they still hold.
void cut(Both& both);

// kSome: the server has answered; what the guest said meanwhile is kept, as far as there is room for it. kEnd: the guest ended first, and said nothing.
asio::awaitable<Heard> wait_for_answer(Both& both, std::string& kept);

}  // namespace cay::gate
