// cay diff: what a sandbox changed on its disk.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

std::string owner_of(const sdk::ChangedFile& file) {
  return std::to_string(file.uid) + ":" + std::to_string(file.gid);
}

std::string described(const sdk::ChangedFile& file) {
  std::string out = file.kind;
  if (file.kind == "file") out += ", " + human_size(file.size);
  if (!file.target.empty()) out += " to " + printable(file.target);
  return out + ", " + file.mode + ", " + owner_of(file);
}

std::string compared(const sdk::ChangedFile& before, const sdk::ChangedFile& after) {
  std::vector<std::string> parts;
  const auto add = [&parts](const std::string& from, const std::string& to) {
    if (from != to) parts.push_back(from + " -> " + to);
  };
  add(before.kind, after.kind);
  if (before.kind == "file" && after.kind == "file")
    add(human_size(before.size), human_size(after.size));
  add(printable(before.target), printable(after.target));
  add(before.mode, after.mode);
  add(owner_of(before), owner_of(after));
  if (parts.empty()) return "content";
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string line_of(const sdk::DiskChange& change) {
  const std::string path = printable(change.path);
  if (change.before && change.after)
    return "~ " + path + "  (" + compared(*change.before, *change.after) + ")\n";
  const auto& side = change.after ? change.after : change.before;
  return (change.after ? "+ " : "- ") + path +
         (side ? "  (" + described(*side) + ")" : std::string()) + "\n";
}

int diff_command(Context& at, const DiffArgs& args) {
  const bool json = at.json;
  const auto sums = at.client.sandbox(args.sandbox).diff([json](const sdk::DiskChange& change) {
    print(json ? change.json + "\n" : line_of(change));
  });
  if (!json && sums.added + sums.changed + sums.deleted == 0)
    print_error("nothing differs from the snapshot that " + args.sandbox + " stands on");
  return kOk;
}

}  // namespace

Command diff_entry() {
  const auto args = std::make_shared<DiffArgs>();
  return {.name = "diff",
          .help = "Show what a sandbox changed on its disk",
          .examples =
              "  cay diff box\n"
              "  cay diff box --json | jq -r 'select(.change == \"added\").path'\n\n"
              "Each line begins with + (added), ~ (changed) or - (deleted), against the snapshot "
              "that the sandbox stands\non. A running sandbox stands still for a moment. A deleted "
              "directory is one line. Times alone are no change.\n",
          .options = [args](Options& to) { to.needed("SANDBOX", args->sandbox, "Id or name"); },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(diff_command)};
}

}  // namespace cay::cli
