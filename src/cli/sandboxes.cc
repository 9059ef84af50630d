#include <functional>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/proxy_rules.h"
#include "cli/render.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

void show(const Context& at, const sdk::SandboxInfo& info) {
  print(at.json ? info.json + "\n" : info.name + "\n");
}

// Does `work` to each of the named (or all) sandboxes. It goes on after a failure, and reports
// each.
int for_each_ref(Context& at, const RefsArgs& args,
                 const std::function<bool(const sdk::SandboxInfo&)>& wanted,
                 const std::function<void(const sdk::Sandbox&)>& work) {
  std::vector<std::string> refs = args.refs;
  if (args.all) {
    for (const auto& info : at.client.list()) {
      if (wanted(info)) refs.push_back(info.name);
    }
  }
  std::vector<std::string> done, items;  // items: of the answer in JSON, one for each named sandbox
  int code = kOk;
  for (const auto& ref : refs) {
    try {
      work(at.client.sandbox(ref));
      done.push_back(ref);
      items.push_back(json_item(ref));
    } catch (const ApiError& error) {
      const bool gone = error.code() == ErrorCode::kNotFound && (args.force || args.all);
      if (gone) continue;  // somebody else was quicker
      if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kUnauthenticated)
        throw;
      print_error(ref + ": " + error.what());
      items.push_back(json_item(ref, error));
      code = kOurFailure;
    }
  }
  if (at.json) {
    print(json_array(items));
  } else if (args.all) {
    for (const auto& ref : done) print(ref + "\n");
  }
  return code;
}

}  // namespace

int create_command(Context& at, const CreateArgs& args) {
  const auto made = at.client.create_info(with_rules(args.sandbox, args.rules));
  show(at, made);
  if (made.network == "unavailable")
    print_error(made.name + " has no way out: " + made.network_reason);
  return kOk;
}

int ls_command(Context& at, const LsArgs& args) {
  const auto items = at.client.list(args.filter);
  if (at.json) {
    std::vector<std::string> texts;
    for (const auto& item : items) texts.push_back(item.json);
    print(json_array(texts));
  } else if (args.quiet) {
    for (const auto& item : items) print(item.name + "\n");
  } else {
    print(sandbox_table(items));
  }
  return kOk;
}

int stop_command(Context& at, const StopArgs& args) {
  const auto runs = [](const sdk::SandboxInfo& info) {
    return info.state == "ready" || info.state == "provisioning" || info.state == "paused";
  };
  return for_each_ref(at, args, runs, [](const sdk::Sandbox& box) { box.stop(); });
}

int start_command(Context& at, const StartArgs& args) {
  const auto stands = [](const sdk::SandboxInfo& info) {
    return info.state == "stopped" || info.state == "failed";
  };
  return for_each_ref(at, args, stands, [](const sdk::Sandbox& box) { box.start(); });
}

int pause_command(Context& at, const PauseArgs& args) {
  const auto runs = [](const sdk::SandboxInfo& info) { return info.state == "ready"; };
  return for_each_ref(at, args, runs, [](const sdk::Sandbox& box) { box.pause(); });
}

int resume_command(Context& at, const ResumeArgs& args) {
  const auto paused = [](const sdk::SandboxInfo& info) { return info.state == "paused"; };
  return for_each_ref(at, args, paused, [](const sdk::Sandbox& box) { box.resume(); });
}

int rename_command(Context& at, const RenameArgs& args) {
  sdk::UpdateOptions update;
  update.name = args.name;
  show(at, at.client.sandbox(args.sandbox).update(update));
  return kOk;
}

int label_command(Context& at, const LabelArgs& args) {
  const auto box = at.client.sandbox(args.sandbox);
  sdk::Labels labels = box.info().labels;
  for (const auto& change : args.changes) {
    const auto equals = change.find('=');
    if (equals != std::string::npos && equals > 0) {
      labels[change.substr(0, equals)] = change.substr(equals + 1);
    } else if (equals == std::string::npos && change.size() > 1 && change.back() == '-') {
      labels.erase(change.substr(0, change.size() - 1));
    } else {
      throw ApiError(ErrorCode::kInvalidArgument, "bad_value",
                     "'" + change + "': write KEY=VALUE to set a label, KEY- to remove it");
    }
  }
  sdk::UpdateOptions update;
  update.labels = std::move(labels);
  show(at, box.update(update));
  return kOk;
}

int set_command(Context& at, const SetArgs& args) {
  show(at, at.client.sandbox(args.sandbox).update(args.timers));
  return kOk;
}

int stats_command(Context& at, const StatsArgs& args) {
  std::vector<std::string> refs = args.refs;
  if (refs.empty()) {
    sdk::ListOptions ready;
    ready.state = "ready";
    for (const auto& info : at.client.list(ready)) refs.push_back(info.name);
  }
  std::vector<NamedStats> items;
  for (const auto& ref : refs) items.push_back({ref, at.client.sandbox(ref).stats()});
  print(at.json ? stats_json(items) : stats_table(items));
  return kOk;
}

}  // namespace cay::cli
