// cay file: changes files inside a sandbox, and watches directories.
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/actions.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"
#include "codec/json.h"

namespace cay::cli {
namespace {

struct FileArgs {
  std::string action, sandbox;
  std::vector<std::string> words;  // behind the sandbox
  std::string user, glob;
  std::uint64_t depth = 1;
  bool recursive = false, exclusive = false;
};

constexpr std::array kFileActions = {
    Action{"ls", "PATH", 1, 1},          Action{"chmod", "MODE PATH", 2, 2},
    Action{"chown", "OWNER PATH", 2, 2}, Action{"cp", "FROM TO", 2, 2},
    Action{"mv", "FROM TO", 2, 2},       Action{"replace", "TEXT REPLACEMENT PATH", 3, 3},
    Action{"watch", "PATH", 1, 1},
};

void print_json(const codec::json::object& value) { print(codec::write(value) + "\n"); }

int show_count(Context& at, const sdk::ChangeCount& done) {
  if (at.json) {
    print_json({{"entries", done.entries},
                {"bytes", done.bytes},
                {"left_out", done.left_out},
                {"copied", done.copied}});
  } else if (done.left_out > 0) {
    print_error(std::to_string(done.left_out) +
                " FIFOs, sockets or devices were left out: they are not copied");
  }
  return kOk;
}

int list_command(Context& at, const sdk::Sandbox& box, const FileArgs& args) {
  const auto found = box.list_levels(args.words[0], static_cast<std::uint32_t>(args.depth),
                                     {.names = true}, args.user);
  if (at.json) {
    codec::json::array items;
    for (const auto& one : found) {
      items.emplace_back(codec::json::object{{"path", codec::text(one.path)},
                                             {"kind", one.kind},
                                             {"size", one.size},
                                             {"mode", one.mode},
                                             {"owner", codec::text(one.owner)},
                                             {"group", codec::text(one.group)}});
    }
    print_json({{"items", std::move(items)}});
    return kOk;
  }
  std::vector<Row> rows;
  for (const auto& one : found) {
    const std::string owner = one.owner.empty() ? std::to_string(one.uid) : printable(one.owner);
    const std::string group = one.group.empty() ? std::to_string(one.gid) : printable(one.group);
    std::array<char, 16> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", one.mode & 07777);
    rows.push_back(
        {mode.data(), owner + ":" + group, one.is_directory() ? "-" : human_size(one.size),
         printable(one.path) + (one.target.empty() ? "" : " -> " + printable(one.target))});
  }
  print(table({"MODE", "OWNER", "SIZE", "PATH"}, rows));
  return kOk;
}

int replace_command(Context& at, const sdk::Sandbox& box, const FileArgs& args) {
  const auto report =
      box.replace(args.words[2], args.words[0], args.words[1], args.glob, args.user);
  int code = kOk;
  codec::json::array items;
  for (const auto& one : report.files) {
    items.emplace_back(codec::json::object{
        {"path", codec::text(one.path)}, {"count", one.count}, {"error", codec::text(one.error)}});
    if (!one.error.empty()) {
      code = kOurFailure;
      print_error(one.error);
    } else if (!at.json) {
      print(std::to_string(one.count) + "\t" + printable(one.path) + "\n");
    }
  }
  if (at.json) print_json({{"items", std::move(items)}, {"truncated", report.truncated}});
  if (report.truncated) {
    print_error("not all files were looked through: the limit of files or 30 s was reached");
    code = kOurFailure;
  }
  return code;
}

int watch_command(Context& at, const sdk::Sandbox& box, const FileArgs& args) {
  constexpr std::int64_t kForgotten = 60;  // seconds: it ends so long after this program
  constexpr std::uint32_t kPatience = 20;
  const std::string id = box.watch(args.words[0], kForgotten, args.user);
  std::uint64_t after = 0;
  for (;;) {
    const auto page = box.watch_events(id, after, kPatience);
    for (const auto& event : page.items) {
      if (at.json) {
        print_json({{"seq", event.seq},
                    {"kind", event.kind},
                    {"path", codec::text(event.path)},
                    {"to", codec::text(event.to)},
                    {"directory", event.directory}});
      } else if (event.kind == "gap") {
        print("gap\tchanges are missing: list the directory\n");
      } else {
        print(event.kind + "\t" + printable(event.path) +
              (event.to.empty() ? "" : "\t" + printable(event.to)) + "\n");
      }
    }
    after = page.next_after;
    if (!page.ended.empty()) {
      print_error(page.ended);
      return kOurFailure;
    }
  }
}

std::uint32_t octal_mode(const std::string& text) {
  std::uint32_t mode = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (failed != std::errc() || end != text.data() + text.size() || mode > 07777)
    wrong("MODE", "must be octal: 0755");
  return mode;
}

int file_command(Context& at, const FileArgs& args) {
  const auto box = at.client.sandbox(args.sandbox);
  if (args.action == "ls") return list_command(at, box, args);
  if (args.action == "replace") return replace_command(at, box, args);
  if (args.action == "watch") return watch_command(at, box, args);
  const std::string& one = args.words[0];
  const std::string& two = args.words[1];
  if (args.action == "chmod")
    return show_count(at, box.set_mode(two, octal_mode(one), args.recursive, args.user));
  if (args.action == "chown")
    return show_count(at, box.set_owner(two, one, args.recursive, args.user));
  if (args.action == "cp") return show_count(at, box.copy(one, two, args.exclusive, args.user));
  return show_count(at, box.move(one, two, args.exclusive, args.user));
}

void check_file_words(const FileArgs& args) {
  check_words(kFileActions, args.action, args.words);
  const bool changes = args.action == "chmod" || args.action == "chown";
  const bool copies = args.action == "cp" || args.action == "mv";
  if (args.recursive && !changes) wrong("-R", "goes with chmod and chown");
  if (args.exclusive && !copies) wrong("-n", "goes with cp and mv");
  if (!args.glob.empty() && args.action != "replace") wrong("--glob", "goes with replace");
  if (args.depth != 1 && args.action != "ls") wrong("--depth", "goes with ls");
  if (args.depth < 1 || args.depth > 64) wrong("--depth", "is 1 to 64 levels");
  if (args.action == "chmod") octal_mode(args.words[0]);
}

}  // namespace

Command file_entry() {
  const auto state = std::make_shared<FileArgs>();
  return {.name = "file",
          .help = "Change files inside a sandbox, and watch directories",
          .examples =
              "  cay file ls box /srv --depth 2\n"
              "  cay file chmod box 0755 /srv/run.sh\n"
              "  cay file chown box www-data:www-data /srv -R\n"
              "  cay file cp box /srv /backup              a directory with all below it\n"
              "  cay file mv box /srv/a /data/a            also to another file system\n"
              "  cay file replace box 8080 9090 /srv --glob '*.conf'\n"
              "  cay file watch box /srv                   a line for each change, until ^C\n",
          .actions = names_of(kFileActions),
          .options =
              [state](Options& to) {
                to.choice("ACTION", state->action, names_of(kFileActions),
                          "ls, chmod, chown, cp, mv, replace or watch", Options::Need::kRequired);
                to.needed("SANDBOX", state->sandbox, "Its name or id");
                to.arguments("WORD", state->words, "As in the examples, and absolute paths inside");
                to.text("-u,--user", state->user, "Who does it (default: root)");
                to.flag("-R,--recursive", state->recursive, "chmod, chown: all below it, too");
                to.flag("-n,--exclusive", state->exclusive, "cp, mv: fail if the target exists");
                to.number("--depth", state->depth, "ls: levels (default: 1)");
                to.text("--glob", state->glob, "replace: only files that match");
              },
          .args = [state](const Line&) -> std::any {
            check_file_words(*state);
            return *state;
          },
          .run = runs(file_command)};
}

}  // namespace cay::cli
