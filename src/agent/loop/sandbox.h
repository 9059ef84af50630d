// The sandbox of a thread: found, made, forked, or reported as lost.
#pragma once
#include <memory>

#include "agent/loop/harness.h"

namespace cay::agent {

// Opens the sandbox that the thread is bound to, or binds it to one, and sets Harness::backend.
//
// A bound sandbox that is gone is never replaced silently: the log gets `sandbox_lost`, and the
// backend stays null. With AgentOptions::replace_lost_sandbox the thread is bound to a new one,
// and the model reads a note of it.
Task<void> bind_sandbox(Harness* harness, providers::Provider* provider,
                        const AgentOptions* options);

// Keeps the disk, if the provider can. Returns the checkpoint's name; empty: it cannot.
Task<std::string> keep_checkpoint(Harness* harness);

// Restores the checkpoint that a `rewound` names, if it was not yet restored.
Task<void> restore_checkpoint(Harness* harness);

// The checkpoint of the moment `to_seq`, or the newest one before it. Empty: there is none.
struct ChosenCheckpoint {
  std::string name;
  bool exact = true;  // no tool ran between the two
};
ChosenCheckpoint checkpoint_at(const ThreadState& state, std::uint64_t to_seq);

Result<void> record_lost(Harness& harness, const Error& error);

}  // namespace cay::agent
