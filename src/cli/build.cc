// cay snapshot build, cay build: a snapshot of a Dockerfile, or of Debian packages.
#include "cli/build.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/build_inputs.h"
#include "cli/byte_meter.h"
#include "cli/command.h"
#include "cli/docker_config.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"
#include "client/errors.h"

namespace cay::cli {
namespace {

constexpr std::size_t kContextPiece = 64 * 1024;
constexpr std::size_t kEmptyTar = 10240;  // zeros: the end of an archive

// The files of a build as the daemon reads them.
class ContextBytes {
 public:
  ContextBytes(BuildInputs inputs, bool quiet) : inputs_(std::move(inputs)), meter_("sent", quiet) {
    if (!inputs_.directory.empty())
      directory_ = std::make_unique<sdk::BuildContext>(inputs_.directory, inputs_.ignore);
  }

  std::string next() {
    std::string piece = directory_ ? directory_->next() : of_archive();
    moved_.bytes += piece.size();
    if (directory_) moved_.files = directory_->report().moved.files;
    meter_.show(moved_);
    if (piece.empty()) meter_.clear();
    return piece;
  }

  // Names the entries that a build cannot have.
  void show_left_out() const {
    if (!directory_) return;
    const auto& report = directory_->report();
    for (const auto& one : report.skipped)
      print_error("left out of the context: " + printable(one.path) + ": " + one.reason);
    if (report.left_out > report.skipped.size()) {
      const auto more = report.left_out - report.skipped.size();
      print_error("left out of the context: " + std::to_string(more) + " more");
    }
  }

 private:
  std::string of_archive() {
    std::string piece;
    if (inputs_.archive == nullptr) {
      if (moved_.bytes == 0) piece.assign(kEmptyTar, '\0');
      return piece;
    }
    piece.resize(kContextPiece);
    piece.resize(std::fread(piece.data(), 1, piece.size(), inputs_.archive.get()));
    if (std::ferror(inputs_.archive.get()) != 0)
      throw ApiError(ErrorCode::kInvalidArgument, "local_file",
                     "the temporary file of the context cannot be read");
    return piece;
  }

  BuildInputs inputs_;
  std::unique_ptr<sdk::BuildContext> directory_;
  sdk::Progress moved_;
  ByteMeter meter_;
};

// Gives a build up at the first signal, and ends this program then.
class GiveUp {
 public:
  GiveUp(Context& at, std::string id) : at_(at), id_(std::move(id)) {
    at_.signals->on([this](int signal) { take(signal); });
  }
  ~GiveUp() { at_.signals->on({}); }
  GiveUp(const GiveUp&) = delete;
  GiveUp& operator=(const GiveUp&) = delete;

  // Called where the build is over. After a signal it does not return: the signal's thread ends
  // this program.
  void check() const {
    while (given_up_) ::pause();
  }

 private:
  void take(int signal) {
    if (signal == SIGWINCH) return;
    given_up_ = true;
    try {
      at_.client.snapshot_store().remove(id_);
      print_error("gave the build up: its snapshot is removed");
    } catch (const ApiError& error) {
      print_error("left, and the build goes on: " + std::string(error.what()));
    }
    end_by_signal(signal);
  }

  Context& at_;
  const std::string id_;
  std::atomic<bool> given_up_ = false;
};

sdk::BuildOptions options_of(const BuildArgs& args, const std::string& dockerfile) {
  sdk::BuildOptions out = args.build;
  out.dockerfile = dockerfile;
  for (const SecretSource& source : args.secrets) {
    auto value = read_secret(source);
    if (!value) client::raise(std::move(value).error().while_doing("--secret " + source.id));
    out.secrets[source.id] = *std::move(value);
  }
  out.logins = logins_for(client::value_or_raise(images_named_by(dockerfile, out)), login_of_user);
  return out;
}

int build_of_dockerfile(Context& at, const BuildArgs& args) {
  BuildInputs inputs = read_build_inputs(args.file, args.context);
  const sdk::BuildOptions options = options_of(args, inputs.dockerfile);
  ContextBytes context(std::move(inputs), args.quiet || at.json);
  const auto store = at.client.snapshot_store();
  const auto produce = [&] {
    std::string piece = context.next();
    // The build begins with the last byte: a signal from here on has to give it up.
    if (piece.empty()) at.signals->hold("left while a build began: `cay snapshot ls` shows it");
    return piece;
  };
  const sdk::Snapshot begun = store.build(options, produce);
  context.show_left_out();
  const GiveUp give_up(at, begun.id);
  std::string hidden;
  const auto show_log = [&](const std::string& text) {
    const std::string shown = printable(text, Newlines::kKept);
    if (args.quiet) {
      hidden += shown;
    } else {
      write_all(STDERR_FILENO, shown);
    }
  };
  try {
    const sdk::Snapshot built = store.follow_build(begun.id, show_log);
    give_up.check();
    print(at.json ? built.json + "\n" : snapshot_ref(built) + "\n");
    return kOk;
  } catch (const ApiError& error) {
    give_up.check();
    write_all(STDERR_FILENO, hidden);  // -q: of a failure the log is shown, too
    // The other lines repeat the end of the log.
    const std::string why = error.what();
    throw ApiError(error.code(), error.reason(), why.substr(0, why.find('\n')));
  }
}

int build_command(Context& at, const BuildArgs& args) {
  return args.packages.empty() ? build_of_dockerfile(at, args) : build_of_packages(at, args);
}

bool is_remote(const std::string& context) {
  return context.find("://") != std::string::npos || context.starts_with("git@");
}

void check_build(const BuildArgs& args, const std::vector<std::string>& words) {
  if (words.size() > 1) wrong("'" + words[1] + "'", "a build has one context: a directory, or -");
  if (!args.packages.empty()) {
    if (!words.empty() || !args.file.empty() || !args.secrets.empty() ||
        !args.build.arguments.empty() || !args.build.target.empty())
      wrong("--debian", "goes with -t, --suite, --policy and -q alone");
    return;
  }
  if (!args.suite.empty()) wrong("--suite", "goes with --debian");
  if (args.build.name.empty()) missing("-t NAME");
  if (words.empty()) missing("CONTEXT (a directory, as `.`, or - for stdin)");
  if (is_remote(args.context))
    wrong("CONTEXT", "must be a directory of this machine, or -: fetch " + args.context + " first");
  if (args.file == "-" && args.context == "-")
    wrong("-f", "and CONTEXT are both stdin: one of them is a file");
}

}  // namespace

Command build_entry() {
  struct State {
    BuildArgs args;
    std::vector<std::string> arguments, secrets, words;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "build",
      .help = "Make a snapshot of a Dockerfile, or of Debian packages",
      .examples =
          "  cay snapshot build -t app .               ./Dockerfile, with the files of .\n"
          "  cay snapshot build -t app:1 -f docker/Dockerfile.web --build-arg VERSION=2 .\n"
          "  cay snapshot build -t app --target test --secret id=npm,src=$HOME/.npmrc .\n"
          "  cay snapshot build -t app --policy 'pip,api.example.com' .\n"
          "  echo 'FROM python:3.12' | cay snapshot build -t py -\n"
          "  cay snapshot build --debian python3,nodejs -t tools\n"
          "  cay run --rm app --                       its own command\n\n"
          "`cay build` is the same. The log goes to stderr, the snapshot's name to stdout. Each "
          "RUN is a sandbox\nwith the policy of --policy. Ctrl-C gives the build up. Exit code 1: "
          "the Dockerfile or one of its steps failed. 125:\nthe build could not be carried out.\n",
      .long_name = "snapshot build",
      .shows_a_program = true,  // Ctrl-C gives it up
      .options =
          [state](Options& to) {
            BuildArgs& args = state->args;
            to.arguments("CONTEXT", state->words,
                         "The directory that COPY reads, less what .dockerignore names. -: a "
                         "Dockerfile or a tar on stdin");
            to.text("-f,--file", args.file,
                    "The Dockerfile (default: CONTEXT/Dockerfile; - is stdin)");
            to.text("-t,--tag", args.build.name,
                    "NAME or NAME:TAG of the snapshot (needed for a Dockerfile)");
            to.texts("--build-arg", state->arguments,
                     "KEY=VALUE of an ARG, or KEY to pass yours on; repeatable");
            to.text("--target", args.build.target, "Build this stage (default: the last)");
            to.texts("--secret", state->secrets,
                     "id=ID,src=FILE or id=ID,env=VARIABLE, for RUN --mount=type=secret; no layer "
                     "has it; repeatable");
            to.text("--policy", args.build.policy,
                    "What RUN may reach, as in `cay create` (default: the daemon's)",
                    no_empty_policy);
            to.flag("--no-cache", args.build.no_cache, "Build each layer anew");
            to.flag("--pull", args.build.pull, "Fetch base images again, even if they are here");
            to.text("--platform", args.build.platform, "As linux/amd64 (default: the daemon's)");
            to.lists("--debian", args.packages,
                     "Instead of a Dockerfile: Debian packages, as python3,nodejs");
            to.text("--suite", args.suite,
                    "Debian's release for --debian (default: this host's, else bookworm)");
            to.flag("-q,--quiet", args.quiet, "Show the log of a failed build alone");
          },
      .args = [state](const Line&) -> std::any {
        BuildArgs& args = state->args;
        if (!state->words.empty()) args.context = state->words.front();
        args.build.arguments = must(parse_env(state->arguments), "--build-arg");
        for (const std::string& text : state->secrets)
          args.secrets.push_back(must(parse_secret_source(text), "--secret"));
        check_build(args, state->words);
        return args;
      },
      .run = runs(build_command)};
}

}  // namespace cay::cli
