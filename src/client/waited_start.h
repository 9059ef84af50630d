// Starts a command by one request that waits for its end: a short command needs no stream.
#pragma once
#include <deque>
#include <string>

#include "client/connection.h"

namespace cay::client {

struct WaitedStart {
  sdk::CommandInfo command;       // as of the answer
  bool ended = false;             // `events` has all of its output, and its end
  std::deque<sdk::Event> events;  // else empty: they are read by a stream, from offset 0
};

// Sends `spec`, which has an id, to the sandbox `at`, and waits up to `wait_s` for the end. A
// request whose answer is lost is repeated until reconnect_for_s have passed: its id makes it one
// command. A daemon that nobody reached is an error at once.
Task<WaitedStart> start_and_wait(Connection& connection, std::string at, json::object spec,
                                 double wait_s);

// Whether Cay had no room for an answer that holds the output. A stream needs none.
bool needs_a_stream(const Error& error);

inline constexpr double kWaitOfRun = 0.05;  // seconds, of a caller that wants the end

// Returns how long a start waits: CommandOptions::wait_s, or `usual`. Between the answer and the
// stream nobody reads the command. For one that might not outlast that, it returns 0.
double wait_of(const sdk::CommandOptions& options, double usual);

}  // namespace cay::client
