#include "code/language.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "code/java_names.h"
#include "code/module_syntax.h"

namespace cay::code {
namespace {

constexpr std::string_view kPythonSetup = R"sh(
P=python3
[ -x "$L/bin/python" ] && P="$L/bin/python"
export PYTHONUNBUFFERED=1 MPLBACKEND="${MPLBACKEND:-module://cay_plots}"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
)sh";
// The environment has no pip of its own, which needs python3-venv: the system's pip works in it.
constexpr std::string_view kPythonInstall = R"sh(
[ -x "$L/bin/python" ] || python3 -m venv --without-pip --system-site-packages "$L" || exit
"$L/bin/python" -m pip --version >/dev/null 2>&1 || {
  echo "python3 has no pip: Debian's package python3-pip has it" >&2
  exit 1
}
"$L/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@"
)sh";

constexpr std::string_view kNodeSetup = R"sh(
[ -d "$L/node_modules" ] && ln -sfn "$L/node_modules" "$D/node_modules"
export NODE_PATH="$PWD/node_modules${NODE_PATH:+:$NODE_PATH}"
)sh";
// Not by --prefix: npm would then look for the system's settings below that directory.
constexpr std::string_view kNodeInstall = R"sh(
cd "$L" || exit
[ -f package.json ] || echo '{"private": true}' >package.json
npm install --no-audit --no-fund --no-update-notifier --loglevel=error "$@"
)sh";

constexpr std::string_view kGoSetup = R"sh(
export GOPATH="${GOPATH:-$L/path}" GOCACHE="${GOCACHE:-$L/build}" GOFLAGS="${GOFLAGS:--modcacherw}"
)sh";
constexpr std::string_view kGoInstall = R"sh(
cd "$L" || exit
[ -f go.mod ] || go mod init cay 2>/dev/null || exit
go get "$@"
)sh";
constexpr std::string_view kGoCompile = R"sh(
cd "$D" || exit
[ -f "$L/go.mod" ] && cp "$L/go.mod" "$D/"
[ -f "$L/go.sum" ] && cp "$L/go.sum" "$D/"
go build -o "$D/program" "$F"
)sh";

// Without a display R draws into Rplots.pdf of the working directory. Here plots are artifacts.
constexpr std::string_view kRSetup = R"sh(
export R_LIBS_USER="$L"
if [ -z "${R_PROFILE_USER:-}" ]; then
  export R_PROFILE_USER="$D/profile.R"
  cat >"$R_PROFILE_USER" <<'END'
if (file.exists("~/.Rprofile")) source("~/.Rprofile")
options(bitmapType = "cairo", device = function(...)
  grDevices::png(file.path(Sys.getenv("CAY_OUTPUT_DIR"), "plot-%04d.png"), 800, 600))
END
fi
)sh";
constexpr std::string_view kRInstall = R"sh(
Rscript -e 'asked <- commandArgs(TRUE)
  install.packages(asked, repos = Sys.getenv("CRAN", "https://cloud.r-project.org"))
  here <- vapply(asked, requireNamespace, logical(1), quietly = TRUE)
  quit(status = as.integer(!all(here)))' "$@"
)sh";

const std::array<Language, 9>& table() {
  static const std::array<Language, 9> kTable = {{
      {.name = "python",
       .aliases = {"py", "python3"},
       .suffix = ".py",
       .programs = {"python3"},
       .library_programs = {},
       .packages = "python3",
       .library_packages = "python3-pip",
       .image = "python:3",
       .setup = kPythonSetup,
       .install = kPythonInstall,
       .run = R"(exec "$P" "$D/$F" "$@")",
       .prints = "print()"},
      {.name = "java",
       .aliases = {},
       .suffix = ".java",
       .programs = {"javac", "java"},
       .library_programs = {},
       .packages = "default-jdk-headless",
       .needs_proc = true,
       .image = "eclipse-temurin:21",
       .without_libraries =
           "Java has no manager of libraries of its own: write the JAR files into the sandbox, and "
           "name them in the variable CLASSPATH (`env`)",
       .compile = R"(exec javac -encoding UTF-8 -cp "${CLASSPATH:-.}" -d "$D/build" "$D/$F")",
       .run = R"(exec java -cp "$D/build${CLASSPATH:+:$CLASSPATH}" "$E" "$@")",
       .prints = "System.out.println()"},
      {.name = "javascript",
       .aliases = {"js", "node", "nodejs"},
       .suffix = ".js",
       .programs = {"node"},
       .library_programs = {"npm"},
       .packages = "nodejs",
       .library_packages = "npm",
       .image = "node:22",
       .setup = kNodeSetup,
       .install = kNodeInstall,
       .run = R"(exec node "$D/$F" "$@")",
       .prints = "console.log()"},
      {.name = "cpp",
       .aliases = {"c++", "cxx"},
       .suffix = ".cpp",
       .programs = {"g++"},
       .library_programs = {},
       .packages = "g++",
       .image = "gcc:13",
       .without_libraries =
           "libraries for C++ are packages of the system: make a snapshot that has them, as "
           "`cay snapshot build --debian g++,libboost-dev -t cpp`",
       .compile = R"(exec g++ -std=c++20 -O1 -pthread -o "$D/program" "$D/$F")",
       .run = R"(exec "$D/program" "$@")",
       .prints = "std::cout"},
      {.name = "go",
       .aliases = {"golang"},
       .suffix = ".go",
       .programs = {"go"},
       .library_programs = {},
       .packages = "golang-go",
       .image = "golang:1.23",
       .setup = kGoSetup,
       .install = kGoInstall,
       .compile = kGoCompile,
       .run = R"(exec "$D/program" "$@")",
       .prints = "fmt.Println()"},
      {.name = "ruby",
       .aliases = {"rb"},
       .suffix = ".rb",
       .programs = {"ruby"},
       .library_programs = {"gem"},
       .packages = "ruby",
       .library_packages = "ruby",
       .image = "ruby:3",
       .setup = R"(export GEM_HOME="$L")",
       .install = R"(gem install --no-document --conservative --silent "$@")",
       .run = R"(exec ruby "$D/$F" "$@")",
       .prints = "puts"},
      {.name = "bash",
       .aliases = {"sh", "shell"},
       .suffix = ".sh",
       .programs = {"bash"},
       .library_programs = {},
       .packages = "bash",
       .image = "debian:12",
       .without_libraries = "a shell script has no libraries: install programs by the system's own "
                            "manager, as apt-get",
       .run = R"(exec bash "$D/$F" "$@")",
       .prints = "echo"},
      {.name = "r",
       .aliases = {"rscript"},
       .suffix = ".R",
       .programs = {"Rscript"},
       .library_programs = {},
       .packages = "r-base-core",
       .image = "r-base:4.4.1",
       .setup = kRSetup,
       .install = kRInstall,
       .run = R"(exec Rscript "$D/$F" "$@")",
       .prints = "print()"},
      {.name = "typescript",
       .aliases = {"ts"},
       .suffix = ".ts",
       .programs = {"node", "tsc"},
       .library_programs = {"npm"},
       .packages = "nodejs node-typescript",
       .library_packages = "npm",
       .image = "node:22",
       .setup = kNodeSetup,
       .install = kNodeInstall,
       .compile = R"(exec tsc --target es2022 --module commonjs --moduleResolution node )"
                  R"(--esModuleInterop --skipLibCheck --outDir "$D/build" "$D/$F")",
       .run = R"(exec node "$D/build/main.js" "$@")",
       .prints = "console.log()"},
  }};
  return kTable;
}

std::string_view file_part(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::span<const Language> languages() { return table(); }

const Language* find_language(std::string_view name) {
  const std::string asked = lowered(name);
  for (const Language& language : languages()) {
    if (language.name == asked || std::ranges::count(language.aliases, asked) > 0) return &language;
  }
  return nullptr;
}

const Language* language_of_file(std::string_view file) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOthers = {
      {{".mjs", "javascript"},
       {".cjs", "javascript"},
       {".cc", "cpp"},
       {".cxx", "cpp"},
       {".bash", "bash"}}};
  const std::string_view name = file_part(file);
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string suffix = lowered(name.substr(dot));
  for (const Language& language : languages()) {
    if (lowered(language.suffix) == suffix) return &language;
  }
  for (const auto& [other, language] : kOthers) {
    if (other == suffix) return find_language(language);
  }
  return nullptr;
}

const Language* language_of_shebang(std::string_view code) {
  if (!code.starts_with("#!")) return nullptr;
  std::string_view line = code.substr(2, code.find('\n') - 2);
  const Language* found = nullptr;
  while (!line.empty() && found == nullptr) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    std::string_view word = file_part(line.substr(0, line.find_first_of(" \t\r")));
    line.remove_prefix(std::min(line.size(), line.find_first_of(" \t\r")));
    if (word == "env" || word.starts_with('-')) continue;
    found = find_language(word);
    // "python3.12"
    while (found == nullptr && !word.empty() && (word.back() == '.' || is_digit(word.back()))) {
      word.remove_suffix(1);
      found = find_language(word);
    }
    break;
  }
  return found;
}

std::string language_names() {
  std::string out;
  for (const Language& language : languages())
    out += (out.empty() ? "" : ", ") + std::string(language.name);
  return out;
}

ProgramName name_program(const Language& language, std::string_view code) {
  if (language.suffix == ".java") return java_program(code);
  ProgramName out{.file = "main" + std::string(language.suffix)};
  if (language.suffix == ".js" && is_module(code)) out.file = "main.mjs";
  return out;
}

}  // namespace cay::code
