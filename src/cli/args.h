// The user's arguments: one struct for each command, filled when it is parsed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cay/code.h"
#include "cay/types.h"
#include "cli/build_inputs.h"
#include "cli/values.h"

namespace cay::cli {

struct RuleArgs {
  std::vector<std::string> uses;            // SECRET, SECRET=WAY or SECRET=API
  std::vector<std::string> fences;          // hosts
  std::vector<std::string> methods, paths;  // of all of these
  std::vector<std::string> rules;           // JSON, or files of it
  bool empty() const { return uses.empty() && fences.empty() && rules.empty(); }
};
struct CreateArgs {
  sdk::CreateOptions sandbox;
  std::string image;  // to boot from, pulled where it is not here; empty: sandbox.snapshot
  RuleArgs rules;
};
struct CreateCommandArgs : CreateArgs {
  std::string claim;  // empty: a new one in any case
};
struct ExecArgs {
  std::string sandbox;  // empty: run makes one
  std::vector<std::string> argv;
  sdk::CommandOptions command;
  bool interactive = false, terminal = false, detach = false;
};
struct RunArgs {
  sdk::CreateOptions sandbox;
  std::string image;  // as in CreateArgs
  RuleArgs rules;
  ExecArgs exec;  // without a command: the snapshot's own
  bool remove = false;
};
struct CodeArgs {
  std::string file;     // "-": stdin
  std::string sandbox;  // empty: one is made for the run, by `create`
  CreateArgs create;
  sdk::CodeOptions code;
  bool interactive = false;
  std::string output;  // a directory for artifacts; empty: they are only named
};
struct LsArgs {
  sdk::ListOptions filter;
  bool quiet = false;
};
struct RefsArgs {  // rm, start, stop, pause, resume
  std::vector<std::string> refs;
  bool all = false;
  bool force = false;  // rm: what is not there is no error
};
struct RmArgs : RefsArgs {
  std::vector<std::string> labels;  // KEY or KEY=VALUE, ANDed
};
struct StartArgs : RefsArgs {};
struct StopArgs : RefsArgs {};
struct PauseArgs : RefsArgs {};
struct ResumeArgs : RefsArgs {};
struct CpArgs {
  std::string from, to, user;
  std::uint64_t max_bytes = sdk::kMostCopied;
  bool keep_links = false;
};
struct TunnelArgs {
  std::string sandbox, address = "127.0.0.1";
  std::vector<PortPair> ports;
};
struct UrlArgs {  // neither port nor file: list, or withdraw all
  std::string sandbox, file, user, content_type, link;
  std::uint16_t port = 0;
  std::optional<std::int64_t> expires_s;
  bool shown = false, withdraw = false;
};
struct PsArgs {
  std::string sandbox;
};
struct LogsArgs {
  std::string sandbox, command, stream;  // command empty: all; stream empty: both
  std::uint64_t offset = 0;
  std::optional<double>
      since_s;  // without a command: only those that ran in the last so many seconds
  bool follow = false;
};
struct AttachArgs {
  std::string sandbox, command;
  std::uint64_t since = 0;
  bool interactive = false;
};
struct KillArgs {
  std::string sandbox, command;
  int signal = 0;
};
struct RenameArgs {
  std::string sandbox, name;
};
struct LabelArgs {
  std::string sandbox;
  std::vector<std::string> changes;  // K=V sets, K- removes
};
struct SetArgs {
  std::string sandbox;
  sdk::UpdateOptions changes;
};
struct StatsArgs {
  std::vector<std::string> refs;  // empty: all that are ready
};
struct DrainArgs {
  double timeout_s = 300;
  bool stop = false, undo = false;
};
struct EventsArgs {
  std::string after;  // a number, or "now"; empty: from the oldest that is kept
  std::string sandbox;
  std::vector<std::string> types;
  bool follow = false;
};
struct UsageArgs {
  std::vector<std::string> refs;  // empty: sums
  std::vector<std::string> labels;
  std::string group_by;
};
struct ProgramsArgs {
  std::string sandbox;
  std::uint64_t offset = 0;
  bool follow = false;
};
struct NetArgs {
  std::string sandbox, policy;  // policy: to set; empty: as it is
  std::string after;  // with `follow`: a number, or "now"; empty: from the oldest that is kept
  bool follow = false;
  bool questions = false;   // list the open ones
  std::string allow, deny;  // a question's id, or its host; empty: none is answered
  bool always = false;      // with an answer: by a rule from now on
};
struct SecretArgs {
  std::string action;  // set, ls, rm, rotate-key
  std::string name, file;
  std::vector<std::string> hosts;
};
struct ProxyArgs {  // nothing but the sandbox: as it is
  std::string sandbox, file;
  RuleArgs rules;
  bool clear = false;
};
struct PolicyArgs {
  std::string action;  // ls, show, get, set or try
  std::vector<std::string> words;
  std::vector<std::string> add, remove;  // set
  std::string file;                      // set
  std::string as;                        // try
};
struct TopArgs {
  double every_s = 2;
  bool once = false;
};
struct SnapshotArgs {
  std::string action;  // ls, inspect, pull, import, export, capture, tag, push, rm or fsck
  std::vector<std::string> words;  // of the action
  std::string name, platform;
  bool quiet = false;
  bool repair = false;  // fsck
};
struct DiffArgs {
  std::string sandbox;
};
struct BuildArgs {
  sdk::BuildOptions build;    // what the line itself holds of it
  std::string file, context;  // the Dockerfile, empty: of the context; a directory or "-"
  std::vector<SecretSource> secrets;
  std::vector<std::string> packages;  // of Debian, instead of a Dockerfile
  std::string suite;                  // of these; empty: the host's
  bool quiet = false;
};
struct ForkArgs {
  std::string sandbox;
  sdk::ForkOptions fork;
};
struct RollbackArgs {
  std::string sandbox, to;
};
struct DoctorArgs {
  std::vector<std::string> names;  // of features; empty: all
};
struct VersionArgs {};
struct EnvArgs {};
struct CompletionArgs {
  std::string script;
};

}  // namespace cay::cli
