// cay volume: directories that sandboxes mount, and that outlive them.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

struct VolumeArgs {
  std::string action;
  std::vector<std::string> names;
  std::uint64_t disk_bytes = 0;
  bool quiet = false;
};

const std::vector<std::string>& volume_actions() {
  static const std::vector<std::string> kAll{"create", "ls", "inspect", "resize", "rm"};
  return kAll;
}

int show_volumes(Context& at, const std::vector<sdk::Volume>& all, bool quiet) {
  if (at.json) {
    std::vector<std::string> texts;
    for (const auto& one : all) texts.push_back(one.json);
    print(json_array(texts));
    return kOk;
  }
  std::vector<Row> rows;
  for (const auto& one : all) {
    if (quiet) print(one.name + "\n");
    rows.push_back({one.name, one.disk_lost ? "lost" : human_size(one.used_bytes),
                    human_size(one.disk_bytes), std::to_string(one.sandboxes.size()),
                    one.created_at});
  }
  if (!quiet) print(table({"NAME", "USED", "LIMIT", "SANDBOXES", "CREATED"}, rows));
  return kOk;
}

int show_volume(Context& at, const sdk::Volume& one) {
  if (at.json) {
    print(one.json + "\n");
    return kOk;
  }
  std::string users;
  for (const std::string& id : one.sandboxes) users += (users.empty() ? "" : " ") + id;
  print("name:       " + one.name + "\nid:         " + one.id + "\nused:       " +
        (one.disk_lost ? std::string("lost: its directory is gone") : human_size(one.used_bytes)) +
        "\nlimit:      " + human_size(one.disk_bytes) +
        "\nsandboxes:  " + (users.empty() ? "-" : users) + "\ncreated:    " + one.created_at +
        " by " + printable(one.created_by) + "\n");
  return kOk;
}

int remove_volumes(Context& at, const VolumeArgs& args) {
  int code = kOk;
  std::vector<std::string> items;
  for (const std::string& name : args.names) {
    try {
      at.client.volume_store().remove(name);
      items.push_back(json_item(name, "volume"));
    } catch (const ApiError& error) {
      if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kUnauthenticated)
        throw;
      print_error(name + ": " + error.what());
      items.push_back(json_item(name, error, "volume"));
      code = kOurFailure;
    }
  }
  if (at.json) print(json_array(items));
  return code;
}

int volume_command(Context& at, const VolumeArgs& args) {
  const auto store = at.client.volume_store();
  if (args.action == "ls") return show_volumes(at, store.list(), args.quiet);
  if (args.action == "rm") return remove_volumes(at, args);
  const std::string& name = args.names.front();
  if (args.action == "inspect") return show_volume(at, store.get(name));
  if (args.action == "resize") return show_volume(at, store.resize(name, args.disk_bytes));
  const auto made = store.create(name, args.disk_bytes);
  print(at.json ? made.json + "\n" : made.name + "\n");
  return kOk;
}

void check_volume_words(const VolumeArgs& args, bool sized) {
  const bool lists = args.action == "ls";
  if (!lists && args.names.empty()) missing("NAME");
  if (lists && !args.names.empty()) wrong("NAME", "does not go with ls");
  if (args.names.size() > 1 && args.action != "rm") wrong("NAME", "several go with rm alone");
  if (sized && args.action != "create" && args.action != "resize")
    wrong("--disk", "goes with create and resize");
  if (!sized && args.action == "resize") missing("--disk");
  if (args.quiet && !lists) wrong("-q", "goes with ls");
}

}  // namespace

Command volume_entry() {
  struct State {
    VolumeArgs args;
    std::string disk;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "volume",
      .help = "Directories that sandboxes mount, and that outlive them",
      .examples =
          "  cay volume create data --disk 10GiB\n"
          "  cay run --volume data:/data -- sh -c 'echo kept >/data/note'\n"
          "  cay run --volume data:/data:ro -- cat /data/note\n"
          "  cay volume ls\n"
          "  cay volume inspect data                   its limit, and the sandboxes that have it\n"
          "  cay volume resize data --disk 20GiB\n"
          "  cay volume rm data\n\n"
          "One sandbox at a time runs with a volume to write in. Any number reads (:ro). Sandboxes "
          "that all mount it\n:shared write side by side.\n",
      .actions = volume_actions(),
      .options =
          [state](Options& to) {
            to.choice("ACTION", state->args.action, volume_actions(),
                      "create, ls, inspect, resize or rm", Options::Need::kRequired);
            to.arguments("NAME", state->args.names, "The volume; rm takes several");
            to.text("--disk", state->disk,
                    "create, resize: its limit, as 10GiB (default: as of a sandbox's disk)");
            to.flag("-q,--quiet", state->args.quiet, "ls: names only");
          },
      .args = [state](const Line&) -> std::any {
        check_volume_words(state->args, !state->disk.empty());
        if (!state->disk.empty()) state->args.disk_bytes = must_some(state->disk, "--disk");
        return state->args;
      },
      .run = runs(volume_command)};
}

}  // namespace cay::cli
