// cay snapshot, cay snapshots: what sandboxes can boot from.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "cli/actions.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/container_engine.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/image.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/store.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

constexpr std::size_t kImportPiece = 256 * 1024;

constexpr std::array kSnapshotActions = {Action{"ls", "", 0, 0},
                                         Action{"inspect", "SNAPSHOT", 1, 1},
                                         Action{"pull", "IMAGE", 1, 1},
                                         Action{"import", "FILE", 1, 1},
                                         Action{"build", "CONTEXT", 0, kAnyNumber},
                                         Action{"capture", "SANDBOX", 1, 1},
                                         Action{"tag", "SNAPSHOT TAG", 2, 2},
                                         Action{"push", "SNAPSHOT IMAGE", 2, 2},
                                         Action{"export", "SNAPSHOT FILE", 2, 2},
                                         Action{"rm", "SNAPSHOT...", 1, kAnyNumber},
                                         Action{"fsck", "", 0, 0}};

int list(Context& at, const SnapshotArgs& args) {
  const auto items = at.client.snapshots();
  if (at.json) {
    std::vector<std::string> texts;
    for (const auto& item : items) texts.push_back(item.json);
    print(json_array(texts));
  } else if (args.quiet) {
    for (const auto& item : items) print(snapshot_ref(item) + "\n");
  } else {
    print(snapshot_table(items));
  }
  return kOk;
}

int show(const Context& at, const sdk::Snapshot& snapshot) {
  print(at.json ? snapshot.json + "\n" : snapshot_ref(snapshot) + "\n");
  return kOk;
}

int pull(Context& at, const SnapshotArgs& args) {
  if (const auto image = engine_image_from(args.words[0]))
    return show(at, wait_for(at, import_from_engine(at, *image, args.name)));
  return show(
      at, pull_image(at, {.image = args.words[0], .name = args.name, .platform = args.platform}));
}

[[noreturn]] void fail_locally(const std::string& file) {
  throw ApiError(ErrorCode::kInvalidArgument, "local_file",
                 (file == "-" ? "stdin" : file) + ": " + std::strerror(errno));
}

int import_file(Context& at, const SnapshotArgs& args) {
  const std::string& file = args.words[0];
  const UniqueFd opened(file == "-" ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (file != "-" && !opened) fail_locally(file);
  const int fd = file == "-" ? STDIN_FILENO : opened.get();
  const auto produce = [fd, &file] {
    std::string piece(kImportPiece, '\0');
    ssize_t got = 0;
    do {
      got = ::read(fd, piece.data(), piece.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail_locally(file);
    piece.resize(static_cast<std::size_t>(got));
    return piece;
  };
  return show(at, wait_for(at, at.client.snapshot_store().import_archive(produce, args.name)));
}

int capture(Context& at, const SnapshotArgs& args) {
  const auto captured = wait_for(at, at.client.sandbox(args.words[0]).capture(args.name));
  note_disk_alone("a capture", at.json);
  return show(at, captured);
}

int push(Context& at, const SnapshotArgs& args) {
  const std::string& image = args.words[1];
  const auto pushed = push_image(at, args.words[0], image);
  print(at.json ? pushed.json + "\n" : image + "@" + pushed.digest + "\n");
  return kOk;
}

int remove(Context& at, const SnapshotArgs& args) {
  std::vector<std::string> items;
  int code = kOk;
  for (const auto& ref : args.words) {
    try {
      at.client.snapshot_store().remove(ref);
      items.push_back(json_item(ref, "snapshot"));
    } catch (const ApiError& error) {
      if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kUnauthenticated)
        throw;
      print_error(ref + ": " + error.what());
      items.push_back(json_item(ref, error, "snapshot"));
      code = kOurFailure;
    }
  }
  if (at.json) print(json_array(items));
  return code;
}

int inspect(Context& at, const SnapshotArgs& args) {
  const auto snapshot = at.client.snapshot_store().get(args.words[0]);
  print(at.json ? snapshot.json + "\n" : snapshot_report(snapshot));
  return kOk;
}

int snapshot_command(Context& at, const SnapshotArgs& args) {
  if (args.action == "inspect") return inspect(at, args);
  if (args.action == "pull") return pull(at, args);
  if (args.action == "import") return import_file(at, args);
  if (args.action == "capture") return capture(at, args);
  if (args.action == "tag")
    return show(at, at.client.snapshot_store().tag(args.words[0], args.words[1]));
  if (args.action == "push") return push(at, args);
  if (args.action == "export") return export_snapshot(at, args);
  if (args.action == "rm") return remove(at, args);
  if (args.action == "fsck") return check_store(at, args);
  return list(at, args);
}

void check_snapshot_words(const SnapshotArgs& args) {
  if (args.action == "build")  // else it is the command of that name
    wrong("build", "must come right behind snapshot, as in `cay snapshot build -t app .`");
  check_words(kSnapshotActions, args.action, args.words);
  const bool takes_name =
      args.action == "pull" || args.action == "import" || args.action == "capture";
  if (args.name.empty() && args.action == "capture") missing("--name");
  if (!args.name.empty() && !takes_name) wrong("--name", "goes with pull, import and capture");
  if (!args.platform.empty() && args.action != "pull") wrong("--platform", "goes with pull");
  if (args.repair && args.action != "fsck") wrong("--repair", "goes with fsck");
  if (args.quiet && args.action != "ls") wrong("-q", "goes with ls");
}

}  // namespace

Command snapshot_entry() {
  const auto args = std::make_shared<SnapshotArgs>();
  return {
      .name = "snapshot",
      .help = "What sandboxes boot from: images, captures and the host's own",
      .examples =
          "  cay snapshot ls\n"
          "  cay snapshot pull python:3.12             from its registry, with docker's login\n"
          "  cay snapshot import image.tar             of `docker save`, OCI, or a root file "
          "system\n"
          "  debootstrap ... | cay snapshot import - --name mine\n"
          "  cay snapshot build -t app .               of a Dockerfile: see `cay build --help`\n"
          "  cay snapshot capture box --name tools     the disk of a sandbox, as it is\n"
          "  cay create --snapshot tools\n"
          "  cay snapshot inspect tools                where it came from, how programs run\n"
          "  cay snapshot tag tools stable             tools:stable means it from then on\n"
          "  cay snapshot push tools registry.example.com/me/tools:1\n"
          "  cay snapshot export tools tools.tar       an OCI archive; - is stdout\n"
          "  cay snapshot pull docker-daemon:app:1     from this machine's Docker; podman:app:1\n"
          "  cay snapshot rm tools\n"
          "  cay snapshot fsck                         is the store whole? --repair mends it\n\n"
          "A capture and a push hold the disk, not the memory of processes. Logins are those of "
          "~/.docker/config.json.\n",
      .actions = names_of(kSnapshotActions),
      .takes_snapshot = true,
      .options =
          [args](Options& to) {
            to.choice("ACTION", args->action, names_of(kSnapshotActions),
                      "ls, inspect, pull, import, export, build, capture, tag, push, rm or fsck",
                      Options::Need::kRequired);
            to.arguments("WORD", args->words,
                         "pull IMAGE; import FILE (- is stdin); export SNAPSHOT FILE; capture "
                         "SANDBOX; inspect, tag, push and rm SNAPSHOT");
            to.text("--name", args->name,
                    "pull, import, capture: NAME or NAME:TAG of the snapshot (default: the "
                    "image's. A capture needs one)");
            to.text("--platform", args->platform,
                    "pull: of an image for several, as linux/amd64 (default: this host's)");
            to.flag("-q,--quiet", args->quiet, "ls: names only");
            to.flag("--repair", args->repair, "fsck: remove what nothing needs");
          },
      .args = [args](const Line&) -> std::any {
        check_snapshot_words(*args);
        return *args;
      },
      .run = runs(snapshot_command)};
}

Command snapshots_entry() {
  const auto args = std::make_shared<SnapshotArgs>();
  return {.name = "snapshots",
          .help = "List what a sandbox can boot from: the same as `cay snapshot ls`",
          .examples = "  cay snapshots\n",
          .group = kHostGroup,
          .options = [args](Options& to) { to.flag("-q,--quiet", args->quiet, "Names only"); },
          .args = [args](const Line&) -> std::any {
            args->action = "ls";
            return *args;
          },
          .run = runs(snapshot_command)};
}

}  // namespace cay::cli
