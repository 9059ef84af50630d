#include "code/plan.h"

#include <algorithm>

#include "base/sha256.h"
#include "code/plots.h"

namespace cay::code {
namespace {

constexpr std::int64_t kPrepareLimit = 30'000;
constexpr std::int64_t kKept = 600'000;  // a finished command with its output

// Go's own archive unpacks there, and no image has it in a PATH of its own.
constexpr std::string_view kCommon = R"sh(
D=$1 F=$2 E=$3
shift 3
export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}:/usr/local/go/bin"
export CAY_OUTPUT_DIR="$D/output"
if [ -w "${HOME:-/nowhere}" ]; then L="$HOME/.cache/cay-code"; else L="/tmp/cay-code-$(id -u)"; fi
)sh";

// Two runs at once install one after the other.
constexpr std::string_view kBeforeInstall = R"sh(
mkdir -p "$L/.have" || exit
if command -v flock >/dev/null; then exec 9>"$L/.lock"; flock 9; fi
)sh";

class Planner {
 public:
  Planner(const RunRequest& request, const std::string& id)
      : request_(request),
        language_(*find_language(request.language)),
        name_(name_program(language_, request.code)),
        directory_("/tmp/cay-code-" + id) {}

  Plan all() const {
    Plan out;
    out.language = &language_;
    out.directory = directory_;
    out.output = directory_ + "/output";
    out.prepare = command(preparation(), {}, kPrepareLimit);
    out.files.push_back({.path = name_.file, .bytes = request_.code});
    if (language_.suffix == ".py")
      out.files.push_back({.path = std::string(kPlotsFile), .bytes = std::string(kPlotsOfPython)});
    if (!request_.stdin_bytes.empty())
      out.files.push_back({.path = "stdin", .bytes = request_.stdin_bytes});
    if (!request_.libraries.empty())
      out.install = command(installation(), request_.libraries, kLongestPreparation);
    if (!language_.compile.empty())
      out.compile = command(setup() + std::string(language_.compile), {}, kLongestPreparation);
    std::string line = setup();
    if (!request_.stdin_bytes.empty()) line += "exec <\"$D/stdin\"\n";
    out.run = command(line + std::string(language_.run), request_.args, request_.timeout_ms);
    out.run.id = request_.command_id;
    return out;
  }

 private:
  CommandSpec command(std::string script, const std::vector<std::string>& args,
                      std::int64_t timeout_ms) const {
    CommandSpec spec;
    spec.argv = {"sh", "-c", std::move(script), "cay-code", directory_, name_.file, name_.entry};
    spec.argv.insert(spec.argv.end(), args.begin(), args.end());
    spec.run = request_.run;
    spec.timeout_ms = timeout_ms;
    spec.ttl_ms = kKept;
    spec.close_stdin = true;
    spec.end_tree = true;
    spec.kill_on_disconnect = true;
    return spec;
  }
  std::string setup() const {
    return std::string(kCommon) + "L=\"$L/" + std::string(language_.name) + "\"\n" +
           std::string(language_.setup) + "\n";
  }
  // The name of a file that marks the library as installed, for later runs.
  static std::string mark(const std::string& library) {
    constexpr std::size_t kDigits = 32;
    return sha256_hex(library).substr(0, kDigits);
  }
  std::string installation() const {
    std::string out = setup() + std::string(kBeforeInstall) + "(\n" +
                      std::string(language_.install) + "\n) || exit\n";
    for (const std::string& library : request_.libraries)
      out += ": >\"$L/.have/" + mark(library) + "\"\n";
    return out;
  }
  std::string preparation() const {
    std::string out = std::string(kCommon) + "umask 077\nmkdir \"$D\" \"$D/output\" || exit\n" +
                      "L=\"$L/" + std::string(language_.name) + "\"\n";
    auto programs = language_.programs;
    if (!request_.libraries.empty())
      programs.insert(programs.end(), language_.library_programs.begin(),
                      language_.library_programs.end());
    for (const std::string_view program : programs) {
      const std::string word(program);
      out += "command -v " + word + " >/dev/null 2>&1 || echo 'missing " + word + "'\n";
    }
    if (request_.libraries.empty()) return out;
    out += "if true";
    for (const std::string& library : request_.libraries)
      out += " && [ -e \"$L/.have/" + mark(library) + "\" ]";
    return out + "; then echo installed; fi\n";
  }

  const RunRequest& request_;
  const Language& language_;
  const ProgramName name_;
  const std::string directory_;
};

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kInstall: return "install";
    case Phase::kCompile: return "compile";
    case Phase::kRun: return "run";
  }
  return "run";
}

Result<Plan> plan(const RunRequest& request, const std::string& id) {
  CAY_CHECK(check(request));
  return Planner(request, id).all();
}

Preparation read_preparation(const Language& language, std::string_view printed) {
  constexpr std::string_view kMissing = "missing ";
  Preparation out;
  while (!printed.empty()) {
    const std::string_view line = printed.substr(0, printed.find('\n'));
    printed.remove_prefix(std::min(printed.size(), line.size() + 1));
    if (line == "installed") out.installed = true;
    if (!line.starts_with(kMissing)) continue;
    const std::string_view program = line.substr(kMissing.size());
    const bool known = std::ranges::count(language.programs, program) > 0 ||
                       std::ranges::count(language.library_programs, program) > 0;
    if (known) out.missing.emplace_back(program);
  }
  return out;
}

Error toolchain_missing(const Language& language, const std::vector<std::string>& missing) {
  bool of_language = false;
  for (const std::string& program : missing)
    of_language = of_language || std::ranges::count(language.programs, program) > 0;
  std::string packages(of_language ? language.packages : language.library_packages);
  if (of_language && missing.size() > language.programs.size())
    packages += " " + std::string(language.library_packages);
  std::string with_commas = packages;
  std::ranges::replace(with_commas, ' ', ',');
  const std::string snapshot =
      language.needs_proc ? "with a Dockerfile that has `RUN apt-get install -y " + packages + "`"
                          : "with `cay snapshot build --debian " + with_commas + " -t " +
                                std::string(language.name) + "`";
  return {Code::kInvalidArgument, "toolchain_missing",
          "the sandbox lacks the program" + std::string(missing.size() == 1 ? " " : "s ") +
              joined(missing, ", ") + ", which " + std::string(language.name) +
              " needs. Install it inside with `apt-get install " + packages +
              "`, make a snapshot " + snapshot + ", or use the image " +
              std::string(language.image),
          0};
}

}  // namespace cay::code
