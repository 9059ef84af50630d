#include "cli/parse.h"

#include <gtest/gtest.h>

#include <memory>

#include "cli/args.h"

namespace cay::cli {
namespace {

const std::vector<Hook> kHooks{{"serve", "run the daemon", nullptr}};

Parsed parsed(std::vector<std::string> args) { return parse(args, kHooks); }

template <class T>
T args_of(std::vector<std::string> args) {
  auto got = parsed(std::move(args));
  EXPECT_TRUE(got.invocation.has_value()) << got.err;
  return got.invocation ? std::any_cast<T>(got.invocation->args) : T{};
}

TEST(ParseTest, RunTakesEverythingBehindTheDashesAsItIs) {
  const auto got = args_of<RunArgs>({"run", "--rm", "-it", "--memory", "128MiB", "--cpus", "0.5",
                                     "-e", "A=b=c", "--timeout", "1.5", "--label", "x=y", "--",
                                     "sh", "-c", "exit 7", "--json", "--"});
  EXPECT_TRUE(got.remove);
  EXPECT_TRUE(got.exec.interactive);
  EXPECT_TRUE(got.exec.terminal);
  EXPECT_EQ(got.exec.argv, (std::vector<std::string>{"sh", "-c", "exit 7", "--json", "--"}));
  EXPECT_EQ(got.sandbox.limits.memory_bytes, 128u << 20);
  EXPECT_EQ(got.sandbox.limits.cpu_millicores, 500u);
  EXPECT_EQ(got.exec.command.env.at("A"), "b=c");
  EXPECT_EQ(got.exec.command.timeout_s, 1.5);
  EXPECT_EQ(got.sandbox.labels.at("x"), "y");
}

// With `--` one word before it is the image. Without `--` all words are the command.
TEST(ParseTest, RunTakesAnImageBeforeTheDashes) {
  const auto plain = args_of<RunArgs>({"run", "--", "python3", "-V"});
  EXPECT_EQ(plain.image, "");
  EXPECT_EQ(plain.exec.argv, (std::vector<std::string>{"python3", "-V"}));
  const auto words = args_of<RunArgs>({"run", "python3", "main.py"});
  EXPECT_EQ(words.image, "") << "as it was before images";
  EXPECT_EQ(words.exec.argv, (std::vector<std::string>{"python3", "main.py"}));
  const auto image = args_of<RunArgs>({"run", "--rm", "python:3.12", "--", "python3", "-V"});
  EXPECT_EQ(image.image, "python:3.12");
  EXPECT_EQ(image.exec.argv, (std::vector<std::string>{"python3", "-V"}));
  const auto behind = args_of<RunArgs>({"run", "redis:7", "--rm", "--"});
  EXPECT_EQ(behind.image, "redis:7");
  EXPECT_TRUE(behind.remove);
  EXPECT_TRUE(behind.exec.argv.empty()) << "the image's own command";
  const auto named = args_of<RunArgs>({"run", "--image", "redis:7", "ls"});
  EXPECT_EQ(named.image, "redis:7");
  EXPECT_EQ(named.exec.argv, std::vector<std::string>{"ls"});
  EXPECT_TRUE(args_of<RunArgs>({"run", "--image", "redis:7"}).exec.argv.empty());
  EXPECT_TRUE(args_of<RunArgs>({"run", "--snapshot", "tools"}).exec.argv.empty());
  EXPECT_EQ(args_of<CreateCommandArgs>({"create", "--image", "redis:7"}).image, "redis:7");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"run", "--"},
                                                {"run", "redis:7", "ls", "--", "ls"},
                                                {"run", "", "--", "ls"},
                                                {"run", "--image", "a", "b", "--", "ls"},
                                                {"run", "--image", "", "--", "ls"},
                                                {"run", "--snapshot", "a", "b", "--", "ls"},
                                                {"create", "--image", "a", "--snapshot", "b"},
                                                {"create", "redis:7"}}) {
    EXPECT_FALSE(parsed(wrong).invocation) << wrong.back();
  }
  EXPECT_NE(parsed({"exec", "box", "ls", "--", "ls"}).err.find("COMMAND"), std::string::npos)
      << "exec takes no image";
}

TEST(ParseTest, SnapshotTakesAnActionAndItsWords) {
  const auto pull = args_of<SnapshotArgs>(
      {"snapshot", "pull", "python:3.12", "--name", "py:1", "--platform", "linux/arm64"});
  EXPECT_EQ(pull.action, "pull");
  EXPECT_EQ(pull.words, std::vector<std::string>{"python:3.12"});
  EXPECT_EQ(pull.name, "py:1");
  EXPECT_EQ(pull.platform, "linux/arm64");
  EXPECT_EQ(args_of<SnapshotArgs>({"snapshot", "rm", "a", "b"}).words.size(), 2U);
  EXPECT_EQ(args_of<SnapshotArgs>({"snapshot", "import", "-"}).words.front(), "-");
  EXPECT_EQ(args_of<SnapshotArgs>({"snapshots"}).action, "ls");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"snapshot"},
        {"snapshot", "other"},
        {"snapshot", "ls", "x"},
        {"snapshot", "pull"},
        {"snapshot", "pull", "a", "b"},
        {"snapshot", "tag", "a"},
        {"snapshot", "rm"},
        {"snapshot", "rm", "a", "--name", "b"},
        {"snapshot", "capture", "box"},
        {"snapshot", "import", "f", "--platform", "linux/amd64"}}) {
    EXPECT_FALSE(parsed(wrong).invocation) << wrong.back();
  }
}

TEST(ParseTest, CodeRunsAFileInANewSandboxOrInOneThatIsThere) {
  const auto args =
      args_of<CodeArgs>({"code", "-l", "py", "--lib", "numpy", "--lib", "six", "-e", "A=1",
                         "--timeout", "1.5", "--memory", "64MiB", "-", "--", "-v", "x"});
  EXPECT_EQ(args.code.language, "py");
  EXPECT_EQ(args.code.libraries, (std::vector<std::string>{"numpy", "six"}));
  EXPECT_EQ(args.code.env.at("A"), "1");
  EXPECT_EQ(args.code.timeout_s, 1.5);
  EXPECT_EQ(args.code.args, (std::vector<std::string>{"-v", "x"}));
  EXPECT_EQ(args.create.sandbox.limits.memory_bytes, 64U << 20);
  EXPECT_EQ(args.file, "-");
  EXPECT_EQ(args_of<CodeArgs>({"code", "--sandbox", "box", "-i", "a.rb"}).sandbox, "box");
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"code"},
           {"code", "-l", "py", "-i", "-"},
           {"code", "--sandbox", "box", "--memory", "1GiB", "a.py"},
           {"code", "--sandbox", "box", "--image", "python:3", "a.py"},
           {"code", "--timeout", "soon", "a.py"}})
    EXPECT_FALSE(parsed(wrong).invocation) << wrong.back();
}

TEST(ParseTest, ForkNamesItsCopies) {
  const auto one = args_of<ForkArgs>({"fork", "box"});
  EXPECT_EQ(one.fork.count, 1U);
  EXPECT_TRUE(one.fork.names.empty());
  EXPECT_EQ(args_of<ForkArgs>({"fork", "box", "--name", "a"}).fork.names,
            std::vector<std::string>{"a"});
  EXPECT_EQ(args_of<ForkArgs>({"fork", "box", "-n", "2", "--name", "a"}).fork.names,
            (std::vector<std::string>{"a-1", "a-2"}));
  EXPECT_EQ(args_of<ForkArgs>({"fork", "box", "-n", "100"}).fork.count, 100U);
  for (const char* count : {"0", "1001", "many"})
    EXPECT_FALSE(parsed({"fork", "box", "-n", count}).invocation) << count;
  EXPECT_EQ(args_of<RollbackArgs>({"rollback", "box"}).to, "");
  EXPECT_EQ(args_of<RollbackArgs>({"rollback", "box", "--to", "good"}).to, "good");
}

TEST(ParseTest, AProfileIsAskedForByName) {
  EXPECT_EQ(args_of<CreateCommandArgs>({"create", "--profile", "strict"}).sandbox.profile,
            "strict");
  EXPECT_EQ(args_of<RunArgs>({"run", "--profile", "nested", "--", "true"}).sandbox.profile,
            "nested");
  EXPECT_EQ(args_of<CreateCommandArgs>({"create"}).sandbox.profile, "");
  EXPECT_NE(parsed({"create", "--profile", ""}).err.find("--profile"), std::string::npos);
}

// 0 is "never" and "the default" on the wire: what is little must not become it on the way there.
TEST(ParseTest, LittleIsNotNothing) {
  const auto got = args_of<CreateCommandArgs>({"create", "--ttl", "500ms", "--lifetime", "1.2s"});
  EXPECT_EQ(got.sandbox.idle_ttl_s, 1);
  EXPECT_EQ(got.sandbox.lifetime_s, 2);
  EXPECT_EQ(args_of<CreateCommandArgs>({"create", "--ttl", "0"}).sandbox.idle_ttl_s, 0);
  EXPECT_EQ(args_of<UrlArgs>({"url", "box", "80", "--expires", "0.5"}).expires_s, 1);
  EXPECT_EQ(args_of<UrlArgs>({"url", "box", "--file", "/f", "--expires", "never"}).expires_s, 0);
  for (const char* option : {"--memory", "--disk", "--cpus", "--pids"}) {
    const auto refused = parsed({"create", option, "0"});
    EXPECT_FALSE(refused.invocation) << option;
    EXPECT_NE(refused.err.find(option), std::string::npos) << refused.err;
  }
  EXPECT_FALSE(parsed({"create", "--memory", "0.2"}).invocation);
  EXPECT_FALSE(parsed({"exec", "--keep", "0", "box", "--", "true"}).invocation);
}

TEST(ParseTest, TimersAreGivenAndChanged) {
  const auto made =
      args_of<CreateCommandArgs>({"create", "--ttl", "-1", "--delete-after-stop", "7d"}).sandbox;
  EXPECT_EQ(made.idle_ttl_s, 0);
  EXPECT_EQ(made.delete_after_stop_s, 7 * 86'400);
  EXPECT_EQ(made.lifetime_s, std::nullopt);
  EXPECT_EQ(args_of<RunArgs>({"run", "--delete-after-stop", "1h", "--", "true"})
                .sandbox.delete_after_stop_s,
            3600);
  const auto changed =
      args_of<SetArgs>({"set", "box", "--delete-after-stop", "never", "--lifetime", "-1"});
  EXPECT_EQ(changed.sandbox, "box");
  EXPECT_EQ(changed.changes.delete_after_stop_s, 0);
  EXPECT_EQ(changed.changes.lifetime_s, 0);
  EXPECT_EQ(changed.changes.idle_ttl_s, std::nullopt) << "what is not named stays";
  EXPECT_EQ(changed.changes.hidden_paths, std::nullopt);
  const auto paths = args_of<SetArgs>({"set", "box", "--hide", "/a", "--hide", "/b"}).changes;
  EXPECT_EQ(paths.hidden_paths, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(paths.read_only_paths, std::nullopt);
  EXPECT_EQ(args_of<SetArgs>({"set", "box", "--read-only", "none"}).changes.read_only_paths,
            std::vector<std::string>());
  EXPECT_FALSE(parsed({"set", "box", "--hide", "none", "--hide", "/a"}).invocation);
  EXPECT_NE(parsed({"set", "box"}).err.find("--delete-after-stop"), std::string::npos);
  EXPECT_FALSE(parsed({"set", "--ttl", "1h"}).invocation);
  EXPECT_FALSE(parsed({"set", "box", "--ttl", "-2"}).invocation);
}

TEST(ParseTest, ExecWithoutTimeoutHasNone) {
  const auto got = args_of<ExecArgs>({"exec", "-w", "/usr", "--user", "user", "box", "--", "ls"});
  EXPECT_EQ(got.sandbox, "box");
  EXPECT_EQ(got.command.cwd, "/usr");
  EXPECT_EQ(got.command.user, "user");
  EXPECT_EQ(got.command.timeout_s, 0);
}

TEST(ParseTest, ExecTakesPlainWordsWithoutDashes) {
  const auto got = args_of<ExecArgs>({"exec", "box", "ls", "/"});
  EXPECT_EQ(got.argv, (std::vector<std::string>{"ls", "/"}));
  const auto bad = parsed({"exec", "box", "ls", "-l"});
  EXPECT_EQ(bad.code, 125);
  EXPECT_NE(bad.err.find("--"), std::string::npos);
}

TEST(ParseTest, PolicyListsShowsSetsAndTries) {
  EXPECT_EQ(args_of<PolicyArgs>({"policy", "ls"}).action, "ls");
  const auto set = args_of<PolicyArgs>({"policy", "set", "box", "pip", "!a.test"});
  EXPECT_EQ(set.words, (std::vector<std::string>{"box", "pip", "!a.test"}));
  const auto edit = args_of<PolicyArgs>(
      {"policy", "set", "box", "--add", "a.test", "--add", "b.test", "--remove", "git"});
  EXPECT_EQ(edit.add, (std::vector<std::string>{"a.test", "b.test"}));
  EXPECT_EQ(edit.remove, std::vector<std::string>{"git"});
  EXPECT_EQ(args_of<PolicyArgs>({"policy", "try", "box", "a.test:22"}).words.size(), 2U);
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"policy"},
        {"policy", "other"},
        {"policy", "ls", "x"},
        {"policy", "get"},
        {"policy", "set", "box"},
        {"policy", "set", "box", "a.test", "--add", "b.test"},
        {"policy", "try", "box", "a", "b"},
        {"policy", "show", "pip", "--add", "x"}}) {
    EXPECT_FALSE(parse(wrong, {}).invocation) << wrong.back();
  }
}

TEST(ParseTest, NetShowsOrChangesThePolicy) {
  EXPECT_EQ(args_of<NetArgs>({"net", "box"}).policy, "");
  const auto follows = args_of<NetArgs>({"net", "box", "--follow", "--after", "now"});
  EXPECT_TRUE(follows.follow);
  EXPECT_EQ(follows.after, "now");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"net", "box", "--after", "3"},
        {"net", "box", "--follow", "--policy", "pip"},
        {"net", "box", "--policy", ""},
        {"net", "box", "--policy", " , "},
        {"create", "--policy", ""}}) {
    EXPECT_FALSE(parse(wrong, {}).invocation) << wrong[1];
  }
  const auto got = args_of<NetArgs>({"net", "box", "--policy", "packages"});
  EXPECT_EQ(got.sandbox, "box");
  EXPECT_EQ(got.policy, "packages");
}

TEST(ParseTest, JsonIsForEveryCommand) {
  EXPECT_TRUE(parsed({"ls", "--json"}).invocation->json);
  EXPECT_FALSE(parsed({"ls"}).invocation->json);
}

TEST(ParseTest, TyposAreExplained) {
  auto got = parsed({"exce", "box", "--", "true"});
  EXPECT_EQ(got.code, 125);
  EXPECT_NE(got.err.find("cay exec"), std::string::npos) << got.err;
  got = parsed({"run", "--tiemout", "3", "--", "true"});
  EXPECT_NE(got.err.find("--timeout"), std::string::npos) << got.err;
  got = parsed({"xyzzy"});
  EXPECT_EQ(got.code, 125);
  EXPECT_EQ(got.err.find("mean"), std::string::npos) << got.err;
}

TEST(ParseTest, ABuildHasTwoNames) {
  const std::vector<std::string> words{"-t",          "app:1",      "-f",       "x/Dockerfile",
                                       "--build-arg", "V=1",        "--secret", "id=a,src=b",
                                       "--target",    "web",        "--policy", "pip",
                                       "--pull",      "--no-cache", "."};
  for (std::vector<std::string> line : {std::vector<std::string>{"build"}, {"snapshot", "build"}}) {
    line.insert(line.end(), words.begin(), words.end());
    const auto got = args_of<BuildArgs>(line);
    EXPECT_EQ(got.context, ".");
    EXPECT_EQ(got.file, "x/Dockerfile");
    EXPECT_EQ(got.build.name, "app:1");
    EXPECT_EQ(got.build.arguments.at("V"), "1");
    EXPECT_EQ(got.build.target, "web");
    EXPECT_EQ(got.build.policy, "pip");
    EXPECT_TRUE(got.build.pull && got.build.no_cache);
    ASSERT_EQ(got.secrets.size(), 1U);
    EXPECT_EQ(got.secrets[0].file, "b");
  }
  const auto debian = args_of<BuildArgs>(
      {"snapshot", "build", "--debian", "python3,nodejs", "--suite", "trixie", "-t", "tools"});
  EXPECT_EQ(debian.packages, (std::vector<std::string>{"python3", "nodejs"}));
  EXPECT_EQ(debian.suite, "trixie");
  EXPECT_NE(parsed({"snapshot", "build", "--help"}).out.find("--build-arg"), std::string::npos);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"build", "-t", "a"},
                                                {"build", "."},
                                                {"build", "-t", "a", ".", "other"},
                                                {"build", "-t", "a", "https://example.com/x.git"},
                                                {"build", "-t", "a", "-f", "-", "-"},
                                                {"build", "-t", "a", "--secret", "token", "."},
                                                {"build", "-t", "a", "--policy", "", "."},
                                                {"build", "-t", "a", "--suite", "bookworm", "."},
                                                {"build", "--debian", "python3", "."},
                                                {"build", "--debian", "python3", "--target", "x"},
                                                {"snapshot", "-q", "build", "."}}) {
    const auto got = parsed(wrong);
    EXPECT_FALSE(got.invocation) << wrong.back();
    EXPECT_EQ(got.code, 125) << wrong.back();
  }
}

TEST(ParseTest, EveryCommandHasExamples) {
  for (const char* name :
       {"run",      "create",     "ls",       "exec",   "cp",    "tunnel", "url",       "logs",
        "snapshot", "fork",       "rollback", "attach", "ps",    "kill",   "stop",      "start",
        "pause",    "resume",     "rm",       "rename", "label", "set",    "stats",     "usage",
        "programs", "net",        "top",      "events", "drain", "env",    "snapshots", "doctor",
        "version",  "completion", "build",    "code"}) {
    const auto got = parsed({name, "--help"});
    EXPECT_EQ(got.code, 0) << name;
    EXPECT_NE(got.out.find("Examples:"), std::string::npos) << name;
    EXPECT_NE(got.out.find(std::string("Usage: cay ") + name + " [OPTIONS]"), std::string::npos)
        << got.out;
  }
  const auto all = parsed({"--help"});
  EXPECT_NE(all.out.find("serve"), std::string::npos);
}

TEST(ParseTest, WrongUsageIsOurFailureAndSaysWhatIsRight) {
  for (const auto& args :
       std::vector<std::vector<std::string>>{{},
                                             {"run"},
                                             {"exec", "box"},
                                             {"rm"},
                                             {"rm", "--all", "box"},
                                             {"run", "--memory", "much", "--", "true"},
                                             {"run", "-d", "--rm", "--", "true"},
                                             {"run", "-d", "-i", "--", "true"},
                                             {"run", "--json", "-t", "--", "true"},
                                             {"kill", "box", "id", "--signal", "NOPE"},
                                             {"logs"},
                                             {"logs", "-f", "box"},
                                             {"logs", "--offset", "5", "box"},
                                             {"logs", "--stdout", "--stderr", "box", "id"},
                                             {"logs", "--since", "5m", "box", "id"},
                                             {"ls", "--", "x"},
                                             {"completion", "tcsh"}}) {
    const auto got = parsed(args);
    EXPECT_FALSE(got.invocation.has_value());
    EXPECT_EQ(got.code, 125);
    EXPECT_FALSE(got.err.empty());
  }
}

TEST(ParseTest, NumbersThatAreNoneAreExplained) {
  for (const char* pids : {"0", "-1", "many", "99999999999999999999"}) {
    const auto got = parsed({"create", "--pids", pids});
    EXPECT_NE(got.err.find(std::string("cay: --pids: '") + pids + "' is no number"),
              std::string::npos)
        << got.err;
  }
  EXPECT_EQ(args_of<CreateCommandArgs>({"create", "--pids", "200"}).sandbox.limits.pids, 200u);
  const auto got = parsed({"logs", "--offset", "x", "box", "id"});
  EXPECT_EQ(got.err.find("cay: --offset: must be a whole number"), 0u) << got.err;
}

TEST(ParseTest, AnEmptyNameIsNoNameMadeUp) {
  for (const char* verb : {"create", "run"}) {
    const auto got = parsed({verb, "--name", "", "--", "true"});
    EXPECT_NE(got.err.find("leave it out, and a name is made up"), std::string::npos) << got.err;
  }
}

TEST(ParseTest, CopyTakesTheHabitsOfCp) {
  for (const char* flag : {"-r", "-R", "--recursive"})
    EXPECT_EQ(args_of<CpArgs>({"cp", flag, "a", "box:/a"}).from, "a") << flag;
}

TEST(ParseTest, CompletionKnowsTheCommands) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = args_of<CompletionArgs>({"completion", shell}).script;
    EXPECT_NE(script.find("attach"), std::string::npos) << shell;
    EXPECT_NE(script.find("serve"), std::string::npos) << shell;
    EXPECT_NE(script.find("timeout"), std::string::npos) << shell;
    EXPECT_NE(script.find("capture"), std::string::npos) << shell;
    EXPECT_NE(script.find("cay snapshot ls -q"), std::string::npos) << shell;
  }
}

TEST(ParseTest, TunnelTakesSeveralPorts) {
  const auto got = args_of<TunnelArgs>({"tunnel", "box", "15432:5432", "6379"});
  EXPECT_EQ(got.sandbox, "box");
  ASSERT_EQ(got.ports.size(), 2u);
  EXPECT_EQ(got.ports[0].local, 15432);
  EXPECT_EQ(got.ports[1].remote, 6379);
  EXPECT_FALSE(parsed({"tunnel", "box"}).invocation.has_value());
  EXPECT_FALSE(parsed({"tunnel", "box", "http"}).invocation.has_value());
}

TEST(ParseTest, UrlMakesListsAndWithdraws) {
  const auto service = args_of<UrlArgs>({"url", "box", "8080", "--expires", "5m"});
  EXPECT_EQ(service.port, 8080);
  EXPECT_EQ(service.expires_s, 300);
  const auto file =
      args_of<UrlArgs>({"url", "box", "--file", "/a", "--inline", "--type", "text/plain"});
  EXPECT_EQ(file.file, "/a");
  EXPECT_TRUE(file.shown);
  EXPECT_TRUE(args_of<UrlArgs>({"url", "box", "--withdraw", "--id", "x"}).withdraw);
  EXPECT_EQ(args_of<UrlArgs>({"url", "box"}).port, 0);
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"url"},
           {"url", "box", "0"},
           {"url", "box", "65536"},
           {"url", "box", "80", "--file", "/a"},
           {"url", "box", "--expires", "1h"},
           {"url", "box", "80", "--inline"},
           {"url", "box", "80", "--id", "x"},
           {"url", "box", "80", "--withdraw", "--expires", "1h"}}) {
    EXPECT_FALSE(parsed(wrong).invocation.has_value()) << wrong.back();
  }
}

TEST(ParseTest, AnActionTakesItsOwnNumberOfWords) {
  for (const std::vector<std::string>& right :
       std::vector<std::vector<std::string>>{{"file", "chmod", "box", "0755", "/f"},
                                             {"snapshot", "ls"},
                                             {"snapshot", "tag", "tools", "stable"},
                                             {"snapshot", "rm", "a", "b", "c"}}) {
    EXPECT_TRUE(parsed(right).invocation.has_value()) << parsed(right).err;
  }
  for (const auto& [line, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"file", "chmod", "box", "0755"}, "MODE PATH"},
           {{"file", "ls", "box", "/a", "/b"}, "'/b'"},
           {{"snapshot", "tag", "tools"}, "SNAPSHOT TAG"},
           {{"snapshot", "ls", "x"}, "'x'"},
           {{"snapshot", "rm"}, "SNAPSHOT..."}}) {
    const auto got = parsed(line);
    EXPECT_FALSE(got.invocation.has_value()) << line.front();
    EXPECT_NE(got.err.find(words), std::string::npos) << got.err;
  }
}

TEST(ParseTest, AnOptionBeforeItsCommandIsToldItsPlace) {
  EXPECT_NE(parsed({"--json", "ls"}).err.find("It belongs behind the command: `cay ls --json`."),
            std::string::npos)
      << parsed({"--json", "ls"}).err;
  EXPECT_NE(parsed({"ls", "--jsen"}).err.find("Did you mean `--json`?"), std::string::npos);
}

// A command of a test's own beside the registered ones.
Command greet_entry() {
  const auto name = std::make_shared<std::string>();
  return {.name = "greet",
          .help = "Greet somebody",
          .examples = "  cay greet you\n",
          .options = [name](Options& to) { to.needed("NAME", *name, "Somebody"); },
          .args = [name](const Line&) -> std::any { return *name; },
          .run =
              [](Context&, const std::any& args) {
                return static_cast<int>(std::any_cast<const std::string&>(args).size());
              }};
}

TEST(ParseTest, ACommandIsItsEntryAlone) {
  auto commands = registered_commands();
  commands.push_back(greet_entry());
  const auto all = parse({"--help"}, kHooks, commands);
  EXPECT_NE(all.out.find("Greet somebody"), std::string::npos) << all.out;
  EXPECT_NE(parse({"greet", "--help"}, kHooks, commands).out.find("cay greet you"),
            std::string::npos);
  EXPECT_NE(parse({"gret"}, kHooks, commands).err.find("cay greet"), std::string::npos);
  const auto script = parse({"completion", "bash"}, kHooks, commands);
  ASSERT_TRUE(script.invocation);
  EXPECT_NE(std::any_cast<CompletionArgs>(script.invocation->args).script.find("greet"),
            std::string::npos);
  const auto got = parse({"greet", "you", "--json"}, kHooks, commands);
  ASSERT_TRUE(got.invocation) << got.err;
  EXPECT_TRUE(got.invocation->json);
  Context at{sdk::Client(sdk::ClientOptions{}), nullptr, false};
  EXPECT_EQ(got.invocation->run(at, got.invocation->args), 3);
  EXPECT_FALSE(parse({"greet", "you"}, kHooks).invocation) << "the control: without its entry";
}

TEST(ParseTest, KillTakesSignalsByName) {
  EXPECT_EQ(args_of<KillArgs>({"kill", "--signal", "SIGTERM", "box", "id"}).signal, 15);
  EXPECT_EQ(args_of<KillArgs>({"kill", "box", "id"}).signal, 0);
}

}  // namespace
}  // namespace cay::cli
