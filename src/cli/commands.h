// The commands. All throw ApiError, and all return the exit code.
#pragma once
#include "cay/client.h"
#include "cli/args.h"
#include "cli/signals.h"

namespace cay::cli {

struct Context {
  sdk::Client client;
  Signals* signals = nullptr;  // for run, exec, attach and logs
  bool json = false;
};

int run_command(Context& at, RunArgs args);
int exec_command(Context& at, ExecArgs args);
int attach_command(Context& at, const AttachArgs& args);
int logs_command(Context& at, const LogsArgs& args);
int ps_command(Context& at, const PsArgs& args);
int kill_command(Context& at, const KillArgs& args);

int create_command(Context& at, const CreateArgs& args);
int ls_command(Context& at, const LsArgs& args);
int stop_command(Context& at, const StopArgs& args);
int start_command(Context& at, const StartArgs& args);
int pause_command(Context& at, const PauseArgs& args);
int resume_command(Context& at, const ResumeArgs& args);
int rm_command(Context& at, const RmArgs& args);
int rename_command(Context& at, const RenameArgs& args);
int label_command(Context& at, const LabelArgs& args);
int set_command(Context& at, const SetArgs& args);
int stats_command(Context& at, const StatsArgs& args);

int usage_command(Context& at, const UsageArgs& args);
int programs_command(Context& at, const ProgramsArgs& args);
int net_command(Context& at, const NetArgs& args);
int policy_command(Context& at, const PolicyArgs& args);
int secret_command(Context& at, const SecretArgs& args);
int proxy_command(Context& at, const ProxyArgs& args);
int top_command(Context& at, const TopArgs& args);
int events_command(Context& at, const EventsArgs& args);

int cp_command(Context& at, const CpArgs& args);
int tunnel_command(Context& at, const TunnelArgs& args);
int url_command(Context& at, const UrlArgs& args);

int drain_command(Context& at, const DrainArgs& args);
int snapshots_command(Context& at);
int doctor_command(Context& at, const DoctorArgs& args);
int version_command(Context& at);
int env_command(const Context& at);

}  // namespace cay::cli
