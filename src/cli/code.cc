// cay code: runs a program that is given as text, in a sandbox of its own or in one that is there.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/image.h"
#include "cli/output.h"
#include "cli/proxy_rules.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"
#include "client/new_file.h"
#include "code/language.h"

namespace cay::cli {
namespace {

[[noreturn]] void local_failure(const std::string& what) {
  throw ApiError(ErrorCode::kInvalidArgument, "local_file", what + ": " + std::strerror(errno));
}

std::string read_all(int fd, const std::string& name) {
  constexpr std::size_t kPiece = 64 * 1024;
  std::string out, piece(kPiece, '\0');
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) local_failure(name);
    if (got == 0) return out;
    out.append(piece, 0, static_cast<std::size_t>(got));
  }
}

std::string text_of(const std::string& file) {
  if (file == "-") return read_all(STDIN_FILENO, "stdin");
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) local_failure(file);
  return read_all(fd.get(), file);
}

// The language of -l, of the file's name or of the first line.
std::string language_of(const CodeArgs& args, const std::string& text) {
  if (!args.code.language.empty()) return args.code.language;
  const code::Language* found = code::language_of_file(args.file);
  if (found == nullptr) found = code::language_of_shebang(text);
  if (found == nullptr)
    throw ApiError(ErrorCode::kInvalidArgument, "unknown_language",
                   "neither the name of the file nor a first line #! names a language: give one "
                   "with -l, of " +
                       code::language_names());
  return std::string(found->name);
}

// Names come from inside the sandbox.
bool names_a_file(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

// Before the run, so that no program runs in vain. It is made with its parents where it is missing.
UniqueFd output_directory(const std::string& directory) {
  const std::string what = "artifacts cannot be written into " + directory;
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) {
    errno = failed.value();
    local_failure(what);
  }
  UniqueFd out(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out || ::faccessat(out.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) local_failure(what);
  return out;
}

void write_artifact(const sdk::Artifact& artifact, int dir, const std::string& directory) {
  const std::string shown = directory + "/" + printable(artifact.name);
  if (!names_a_file(artifact.name))
    throw ApiError(ErrorCode::kInvalidArgument, "local_file", shown + ": no name of a file");
  auto file = client::NewFile::create_hidden(dir, shown);
  if (!file) throw ApiError(ErrorCode::kInvalidArgument, "local_file", file.error().message);
  if (write_all(file->fd(), artifact.bytes) != Written::kAll) local_failure(shown);
  if (const auto named = file->commit(artifact.name); !named)
    throw ApiError(ErrorCode::kInvalidArgument, "local_file", named.error().message);
}

// Writes each that it can. Returns false if one could not be written, and stderr names that one.
bool write_artifacts(const std::vector<sdk::Artifact>& artifacts, int dir,
                     const std::string& directory) {
  bool all = true;
  for (const sdk::Artifact& artifact : artifacts) {
    try {
      write_artifact(artifact, dir, directory);
    } catch (const ApiError& error) {
      print_error(error.what());
      all = false;
    }
  }
  return all;
}

void show(const sdk::CodeResult& result, const CodeArgs& args) {
  print(result.out);
  write_all(STDERR_FILENO, result.err);
  if (args.output.empty() && !result.artifacts.empty()) {
    std::string names;
    for (const sdk::Artifact& artifact : result.artifacts)
      names += (names.empty() ? "" : ", ") + printable(artifact.name);
    print_error("the program left " + names + ": -o DIRECTORY writes them");
  }
  for (const std::string& note : result.notes) print_error(printable(note));
  if (result.phase == "run") return;
  print_error(result.phase == "install" ? "the libraries could not be installed"
                                        : "the program could not be compiled");
}

int code_command(Context& at, const CodeArgs& given) {
  CodeArgs args = given;
  const std::string text = text_of(args.file);
  args.code.language = language_of(args, text);
  if (args.interactive) args.code.input = read_all(STDIN_FILENO, "stdin");
  const UniqueFd output = args.output.empty() ? UniqueFd() : output_directory(args.output);
  sdk::CodeResult result;
  if (!args.sandbox.empty()) {
    result = at.client.sandbox(args.sandbox).run_code(text, args.code);
  } else {
    if (!args.create.image.empty())
      args.create.sandbox.snapshot = snapshot_of(at, args.create.image).id;
    result =
        at.client.run_code(text, args.code, with_rules(args.create.sandbox, args.create.rules));
  }
  if (at.json) {
    print(result.json + "\n");
  } else {
    show(result, args);
  }
  const bool written = !output || write_artifacts(result.artifacts, output.get(), args.output);
  // The program's own, or one that no program has, if it did not start.
  const int code = result.phase == "run" ? result.command.shell_exit_code() : kNotExecutable;
  return code == kOk && !written ? kOurFailure : code;
}

void check_sandbox(const CodeArgs& args) {
  const sdk::CreateOptions& made = args.create.sandbox;
  const bool has_words =
      !args.create.image.empty() || !made.snapshot.empty() || !made.policy.empty() ||
      !made.name.empty() || !made.profile.empty() || !made.labels.empty() ||
      made.limits.cpu_millicores != 0 || made.limits.memory_bytes != 0 || !made.volumes.empty() ||
      !made.read_only_paths.empty() || !made.hidden_paths.empty() || !args.create.rules.empty();
  if (!args.sandbox.empty() && has_words)
    wrong("--sandbox", "names one that is there: options of a new sandbox do not go with it");
}

}  // namespace

Command code_entry() {
  struct State {
    CodeArgs args;
    CreateWords create;
    std::vector<std::string> env;
    std::string timeout;
  };
  const auto state = std::make_shared<State>();
  return {.name = "code",
          .help = "Run a program of python, java, javascript, cpp, go, ruby, bash, r or typescript",
          .examples =
              "  echo 'print(2+2)' | cay code -l python -\n"
              "  cay code main.go\n"
              "  cay code --lib numpy --lib matplotlib -o . plot.py\n"
              "  cay code --sandbox box -i sort.rb < data.txt\n"
              "  cay code --image golang:1.23 --timeout 10 main.go -- -v input.txt\n\n"
              "Without --sandbox a sandbox is made for the run and removed after it. The exit code "
              "is the program's own, 124 after\nthe time limit, 126 if it could not be compiled or "
              "its libraries could not be installed, and 127 if the\nsandbox lacks the language.\n",
          .takes_a_program = true,
          .options =
              [state](Options& to) {
                CodeArgs& args = state->args;
                to.text("-l,--language", args.code.language,
                        "Language (default: by the name of the file, or its first line)");
                to.texts("--lib", args.code.libraries,
                         "Library, installed by the language's own manager; repeatable");
                to.text("--timeout", state->timeout,
                        "End the program after so long, as 30 or 5m (default: 60)");
                to.flag("-i,--interactive", args.interactive, "Pass stdin on, with its end");
                to.text("-o,--output", args.output,
                        "Write plots and files of $CAY_OUTPUT_DIR into this directory, "
                        "made if missing");
                to.text("--sandbox", args.sandbox, "Run in this one (default: in a new one)");
                to.texts("-e,--env", state->env,
                         "KEY=VALUE, or KEY to pass yours on; of the program; repeatable");
                to.text("-w,--workdir", args.code.cwd, "Directory to run in");
                to.text("-u,--user", args.code.user, "Who runs it (default: root)");
                state->create.declare(to, args.create.sandbox, args.create.image,
                                      args.create.rules);
                to.needed("FILE", args.file, "The program; - reads it from stdin");
              },
          .args = [state](const Line& line) -> std::any {
            CodeArgs& args = state->args;
            state->create.fill(args.create.sandbox, args.create.image, args.create.rules);
            args.code.env = must(parse_env(state->env), "--env");
            args.code.args = line.after;
            if (!state->timeout.empty())
              args.code.timeout_s = must(parse_duration(state->timeout), "--timeout");
            if (args.file == "-" && args.interactive)
              wrong("-i", "and - do not go together: stdin is the program");
            check_sandbox(args);
            return args;
          },
          .run = runs(code_command)};
}

}  // namespace cay::cli
