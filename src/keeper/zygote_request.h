// The keeper sends its zygote (zygote.h) one message of a SOCK_SEQPACKET socket for each start. It
// has numbers, strings and descriptors. The reading half allocates nothing.
#pragma once
#include <cstddef>
#include <cstdint>

#include "keeper/child.h"

namespace cay::keeper {

inline constexpr std::size_t kZygoteBytes = 64 * 1024;  // of a message; a longer plan is not sent
inline constexpr int kZygoteArgs = 512;                 // words of argv, and as many of env
inline constexpr int kZygoteDescriptors = 16;

// Sends the plan of a command, with the descriptors that it names and `group`, a cgroup v2
// directory. Never waits. False: it does not fit, is of a file task, or the socket takes no more.
bool send_to_zygote(int socket, const ChildPlan& plan, int group);

// A plan that was received. Its strings point into `bytes`; its descriptors are the receiver's.
struct ZygoteRequest {
  ChildPlan plan;
  int group = -1;
  int joins[kZygoteDescriptors];
  char* argv[kZygoteArgs + 1];
  char* env[kZygoteArgs + kSpareEnv + 1];
  alignas(16) char bytes[kZygoteBytes];
};

// Waits for the next plan. False: the keeper is gone, or the message is none of send_to_zygote().
// `out.plan.pid_cell` is as it was for the keeper: shared memory has one address in both.
bool receive_in_zygote(int socket, ZygoteRequest& out);

}  // namespace cay::keeper
