// Reads the requests for new sandboxes (protocol reference, sections 2.2 and 2.3).
#pragma once
#include <string>
#include <vector>

#include "api/daytona/config.h"
#include "codec/fields.h"
#include "core/verbs/sandboxes.h"
#include "model/sandbox.h"
#include "model/snapshot.h"

namespace cay::api::daytona {

struct NewSandbox {
  SandboxSpec spec{};
  core::CreateOptions options{};
  std::string dockerfile{};             // empty: it starts from a snapshot
  std::vector<std::string> contexts{};  // the hashes of uploaded files that the build reads
};

// Fails kInvalidArgument, and kExhausted for more than the host gives.
Result<NewSandbox> read_new_sandbox(codec::Fields& fields, const DaytonaConfig& config);

// The home of these clients' sandboxes. Their programs name it.
inline constexpr const char* kHome = "/home/daytona";
// Sets home and working directory of programs, unless the client or the snapshot names a user. Sets
// the limits that the snapshot was made with where the client gave none.
void settle(SandboxSpec& spec, const SnapshotInfo& snapshot);

// Whole CPUs and GiB of a request: cpu, memory, disk. Zeros: not given.
Result<Limits> read_resources(codec::Fields& fields, const Limits& maximum);

// The label by which agents find the sandbox of a conversation. At most one sandbox of a tenant has
// each value: get-or-create programs look for it before they create.
inline constexpr const char* kThreadLabel = "thread_id";
// The claim (core::Claims) of labels. Empty: none.
std::string claim_of(const std::map<std::string, std::string>& labels);

// The policy of network settings: "block all", lists of networks and domains with commas. `usual`:
// what none of them means.
struct NetworkSettings {
  bool block_all = false;
  std::string networks{}, domains{};
};
Result<std::string> policy_of(const NetworkSettings& settings, const std::string& usual);

// Rules by which environment variables stand for secrets: a list of {"VARIABLE": "secret"}.
void read_secrets(codec::Fields& fields, std::string_view name, std::vector<ProxyRule>& out);

}  // namespace cay::api::daytona
