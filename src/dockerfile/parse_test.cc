#include <gtest/gtest.h>

#include "dockerfile/dockerfile.h"

namespace cay::dockerfile {
namespace {

// Reads instructions of one stage whose FROM is line 1.
Result<Dockerfile> stage_with(std::string_view text) {
  return parse("FROM base\n" + std::string(text));
}

std::string error_of(const Result<Dockerfile>& result) {
  return result ? "parsed" : result.error().message;
}

template <class What>
What only(std::string_view text) {
  auto file = stage_with(text);
  EXPECT_TRUE(file) << text << ": " << error_of(file);
  if (!file || file->stages.front().instructions.size() != 1) {
    ADD_FAILURE() << text << " is not one instruction";
    return {};
  }
  const auto* out = std::get_if<What>(&file->stages.front().instructions.front().meaning);
  EXPECT_NE(out, nullptr) << text;
  return out == nullptr ? What{} : *out;
}

// An instruction in one line, for the table of forms.
std::string brief(const CommandLine& command) {
  std::string out = command.shell ? "shell" : "exec";
  for (const auto& word : command.words) out += "|" + word;
  return out;
}
std::string brief(const std::vector<Assignment>& set) {
  std::string out;
  for (const auto& one : set) out += (out.empty() ? "" : ";") + one.name + "=" + one.value;
  return out;
}
struct Brief {
  std::string operator()(const Run& run) const {
    std::string out = "RUN " + brief(run.command);
    for (const auto& mount : run.mounts) {
      out += " mount" + std::to_string(static_cast<int>(mount.type)) + ":" + mount.target;
    }
    for (const auto& heredoc : run.heredocs) out += " <<" + heredoc.name + ":" + heredoc.content;
    return out;
  }
  std::string operator()(const Copy& copy) const {
    std::string out = copy.add ? "ADD" : "COPY";
    for (const auto& source : copy.sources) out += " " + source;
    for (const auto& file : copy.files) out += " <<" + file.name + ":" + file.content;
    out += " -> " + copy.target;
    if (!copy.from.empty()) out += " from " + copy.from;
    if (!copy.chown.empty()) out += " chown " + copy.chown;
    if (!copy.chmod.empty()) out += " chmod " + copy.chmod;
    return out + (copy.link ? " link" : "");
  }
  std::string operator()(const Env& env) const { return "ENV " + brief(env.set); }
  std::string operator()(const Label& label) const { return "LABEL " + brief(label.set); }
  std::string operator()(const Arg& arg) const {
    std::string out = "ARG";
    for (const auto& one : arg.arguments) {
      out += " " + one.name + (one.value ? "=" + *one.value : "");
    }
    return out;
  }
  std::string operator()(const Workdir& workdir) const { return "WORKDIR " + workdir.path; }
  std::string operator()(const User& user) const { return "USER " + user.name; }
  std::string operator()(const Shell& shell) const {
    return "SHELL " + brief({false, shell.words});
  }
  std::string operator()(const Expose& expose) const {
    std::string out = "EXPOSE";
    for (const auto& port : expose.ports) out += " " + port;
    return out;
  }
  std::string operator()(const Cmd& cmd) const { return "CMD " + brief(cmd.command); }
  std::string operator()(const Entrypoint& one) const { return "ENTRYPOINT " + brief(one.command); }
  std::string operator()(const Ignored& ignored) const { return "ignored " + ignored.keyword; }
};

struct ParseCase {
  std::string_view text, expected;
};

TEST(ParseTest, FormsThatRealDockerfilesHave) {
  for (const auto& [text, expected] : std::initializer_list<ParseCase>{
           {"RUN apt-get update", "RUN shell|apt-get update"},
           {"run apt-get update", "RUN shell|apt-get update"},
           {"  RUN\tls   -l  ", "RUN shell|ls   -l"},
           {"RUN a && \\\n    b", "RUN shell|a &&     b"},
           {"RUN a && \\\n# why\n  b", "RUN shell|a &&   b"},
           {"RUN a && \\\n\n  b", "RUN shell|a &&   b"},
           {"RUN a \\  \n  b", "RUN shell|a   b"},
           {"RUN a \\\r\n  b\r\n", "RUN shell|a   b"},
           {"RUN a \\", "RUN shell|a"},
           {"RUN echo a \\\\\n", "RUN shell|echo a \\\\"},
           {"RUN echo '#no comment'", "RUN shell|echo '#no comment'"},
           {"RUN [\"ls\", \"-l\"]", "RUN exec|ls|-l"},
           {"RUN [ \"a b\" , \"c\\\"d\" ]", "RUN exec|a b|c\"d"},
           {"RUN [\"\\u00e9\\ud83d\\ude00\\t\"]", "RUN exec|é😀\t"},
           {"RUN [ -f x ] && y", "RUN shell|[ -f x ] && y"},
           {"RUN [[ -f x ]] && y", "RUN shell|[[ -f x ]] && y"},
           {"RUN ['ls', '-l']", "RUN shell|['ls', '-l']"},
           {"RUN [\"ls\",]", "RUN shell|[\"ls\",]"},
           {"RUN <<EOF\na\nb\nEOF", "RUN shell|<<EOF <<EOF:a\nb\n"},
           {"RUN <<-EOF\n\ta\n\tEOF", "RUN shell|<<-EOF <<EOF:\ta\n"},
           {"RUN <<'EOF'\n$x\nEOF", "RUN shell|<<'EOF' <<EOF:$x\n"},
           {"RUN cat <<A <<\"B\" > /x\n1\nA\n2\nB",
            "RUN shell|cat <<A <<\"B\" > /x <<A:1\n <<B:2\n"},
           {"RUN <<EOF\n# no comment\na \\\nEOF", "RUN shell|<<EOF <<EOF:# no comment\na \\\n"},
           {"RUN python3 <<EOF\nprint(1)\nEOF", "RUN shell|python3 <<EOF <<EOF:print(1)\n"},
           {"RUN echo \"x <<EOF y\"", "RUN shell|echo \"x <<EOF y\""},
           {"RUN echo $((1 << 2))", "RUN shell|echo $((1 << 2))"},
           {"RUN cat <<<word", "RUN shell|cat <<<word"},
           {"RUN --mount=type=cache,target=/root/.cache pip install x",
            "RUN shell|pip install x mount1:/root/.cache"},
           {"RUN --mount=target=/src ls", "RUN shell|ls mount0:/src"},
           {"RUN --mount=type=tmpfs,target=/t --mount=type=secret,id=k cat /run/secrets/k",
            "RUN shell|cat /run/secrets/k mount2:/t mount3:/run/secrets/k"},
           {"COPY a /b", "COPY a -> /b"},
           {"COPY . .", "COPY . -> ."},
           {"COPY a b c/", "COPY a b -> c/"},
           {"COPY [\"a b\", \"/c d\"]", "COPY a b -> /c d"},
           {"COPY --from=build /x /y", "COPY /x -> /y from build"},
           {"COPY --from=0 /x /y", "COPY /x -> /y from 0"},
           {"COPY --from=nginx:1.25 /etc/nginx /n", "COPY /etc/nginx -> /n from nginx:1.25"},
           {"COPY --chown=app:app --chmod=755 a /b", "COPY a -> /b chown app:app chmod 755"},
           {"COPY --link a /b", "COPY a -> /b link"},
           {"COPY --link=false a /b", "COPY a -> /b"},
           {"COPY --chown=\"a:b\" x y", "COPY x -> y chown a:b"},
           {"COPY package*.json ./", "COPY package*.json -> ./"},
           {"COPY <<EOF /x\nhi\nEOF", "COPY <<EOF:hi\n -> /x"},
           {"COPY <<a.txt <<b.txt /d/\n1\na.txt\n2\nb.txt", "COPY <<a.txt:1\n <<b.txt:2\n -> /d/"},
           {"ADD x.tar.gz /", "ADD x.tar.gz -> /"},
           {"ENV A=b", "ENV A=b"},
           {"ENV A=b C=d", "ENV A=b;C=d"},
           {"ENV A=\"b c\" D=e\\ f", "ENV A=\"b c\";D=e\\ f"},
           {"ENV A b c", "ENV A=b c"},
           {"ENV A b=c", "ENV A=b=c"},
           {"ENV A=", "ENV A="},
           {"ENV A=b \\\n    C=d", "ENV A=b;C=d"},
           {"ENV PATH=\"/opt/bin:$PATH\"", "ENV PATH=\"/opt/bin:$PATH\""},
           {"ARG A", "ARG A"},
           {"ARG A=b", "ARG A=b"},
           {"ARG A= B=\"c d\" C", "ARG A= B=\"c d\" C"},
           {"WORKDIR /a b", "WORKDIR /a b"},
           {"USER app:app", "USER app:app"},
           {"LABEL a=b \"c d\"=\"e f\"", "LABEL a=b;\"c d\"=\"e f\""},
           {"LABEL maintainer someone else", "LABEL maintainer=someone else"},
           {"SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]",
            "SHELL exec|/bin/bash|-o|pipefail|-c"},
           {"EXPOSE 80 443/tcp $PORT", "EXPOSE 80 443/tcp $PORT"},
           {"CMD [\"python\", \"app.py\"]", "CMD exec|python|app.py"},
           {"CMD python app.py", "CMD shell|python app.py"},
           {"CMD []", "CMD exec"},
           {"ENTRYPOINT [\"/bin/tini\", \"--\"]", "ENTRYPOINT exec|/bin/tini|--"},
           {"ENTRYPOINT exec top -b", "ENTRYPOINT shell|exec top -b"},
           {"HEALTHCHECK --interval=5s CMD curl -f http://localhost/", "ignored HEALTHCHECK"},
           {"HEALTHCHECK NONE", "ignored HEALTHCHECK"},
           {"VOLUME /data", "ignored VOLUME"},
           {"VOLUME [\"/a\", \"/b\"]", "ignored VOLUME"},
           {"STOPSIGNAL SIGTERM", "ignored STOPSIGNAL"},
           {"MAINTAINER me", "ignored MAINTAINER"}}) {
    const auto file = stage_with(text);
    ASSERT_TRUE(file) << text << ": " << error_of(file);
    ASSERT_EQ(file->stages.front().instructions.size(), 1U) << text;
    const auto& one = file->stages.front().instructions.front();
    EXPECT_EQ(std::visit(Brief{}, one.meaning), expected) << text;
    EXPECT_EQ(one.line, 2) << text;
  }
}

TEST(ParseTest, ErrorsHaveTheirLineAndNameTheThing) {
  for (const auto& [text, expected] : std::initializer_list<ParseCase>{
           {"\n\nFOO x", "line 4: there is no instruction FOO"},
           {"RUN", "line 2: RUN needs a command"},
           {"RUN []", "line 2: RUN needs a command"},
           {"RUN [\"a\", 1]", "line 2: an array of RUN may have strings only"},
           {"RUN <<EOF\na", "line 2: the here-document EOF has no end: no line is EOF alone"},
           {"RUN --network=none ls",
            "line 2: RUN --network is not supported: the policy of the build decides what RUN may"
            " reach"},
           {"RUN --security=insecure ls",
            "line 2: RUN --security is not supported: every RUN is contained in the same way"},
           {"RUN --mount=type=ssh ls",
            "line 2: RUN --mount=type=ssh is not supported: use a secret or the policy"},
           {"RUN --mount=type=odd ls", "line 2: --mount: type=odd is not understood"},
           {"RUN --mount=type=cache ls", "line 2: --mount needs a target"},
           {"RUN --mount=type=secret ls", "line 2: --mount=type=secret needs an id"},
           {"RUN --mount=type=tmpfs,target=/a,id=b ls",
            "line 2: a mount of this type has no option id"},
           {"RUN --mount=type=cache,target=/a,mode=9 ls",
            "line 2: --mount: mode=9 is not understood"},
           {"RUN --mount=type=tmpfs,target=/a,size=1t ls",
            "line 2: --mount: size=1t is not understood"},
           {"RUN --mount=target=/a,from=$X ls",
            "line 2: --mount: from takes no variable: name a stage with FROM"},
           {"RUN --odd ls", "line 2: RUN has no option --odd"},
           {"COPY a", "line 2: COPY needs a source and a target"},
           {"COPY --from=$X a b",
            "line 2: COPY --from takes no variable: name a stage with FROM, and copy from that"},
           {"COPY --parents a b",
            "line 2: COPY --parents is not supported: name the files, or use .dockerignore"},
           {"COPY --exclude=x a b",
            "line 2: COPY --exclude is not supported: name the files, or use .dockerignore"},
           {"COPY --link=maybe a b", "line 2: --link can be true or false, not maybe"},
           {"COPY --chown a b", "line 2: COPY needs a value for --chown"},
           {"COPY --chmod=1 --chmod=2 a b", "line 2: --chmod is there twice"},
           {"ADD --from=x a b", "line 2: ADD has no option --from"},
           {"ADD --checksum=sha256:0 a b",
            "line 2: ADD --checksum is not supported: ADD takes files of the context only. Use RUN"
            " to fetch others"},
           {"COPY --from=x <<EOF /a\nEOF", "line 2: a here-document is no file of --from=x"},
           {"COPY x <<EOF\nEOF", "line 2: a here-document can be a source, and nothing else"},
           {"ENV A", "line 2: ENV needs a name and a value"},
           {"ENV A=b C", "line 2: 'C' has no =: ENV takes name=value. Quote a value with blanks"},
           {"ENV =b", "line 2: ENV needs a name before each ="},
           {"ENV", "line 2: ENV needs a name and a value"},
           {"ARG", "line 2: ARG needs a name"},
           {"ARG 1=2", "line 2: '1=2' is no name for ARG"},
           {"WORKDIR", "line 2: WORKDIR needs a path"},
           {"USER", "line 2: USER needs a name"},
           {"SHELL bash", "line 2: SHELL needs an array: SHELL [\"/bin/bash\", \"-c\"]"},
           {"EXPOSE", "line 2: EXPOSE needs a port"},
           {"CMD", "line 2: CMD needs a command"},
           {"VOLUME", "line 2: VOLUME needs a value"},
           {"ONBUILD RUN x",
            "line 2: ONBUILD is not supported: write its instruction into the Dockerfile that"
            " starts from this image"},
           {"FROM", "line 2: FROM needs an image: FROM image, or FROM image AS name"},
           {"FROM a b c", "line 2: FROM needs an image: FROM image, or FROM image AS name"},
           {"FROM a AS 1", "line 2: '1' is no name for a stage: use letters, digits, - _ and ."},
           {"FROM --odd=x a", "line 2: FROM has no option --odd"},
           {"FROM a AS x\nFROM b as X", "line 3: two stages are named x"}}) {
    const auto file = stage_with(text);
    EXPECT_EQ(error_of(file), expected) << text;
  }
}

TEST(ParseTest, WhatIsRefusedHasACodeOfItsOwn) {
  const auto refused = stage_with("RUN --network=host ls");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_EQ(refused.error().reason, "dockerfile_unsupported");
  const auto wrong = stage_with("RUN --odd ls");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalidArgument);
  EXPECT_EQ(wrong.error().reason, "invalid_dockerfile");
}

TEST(ParseTest, StagesHaveNamesPlatformsAndArgumentsBefore) {
  const auto file = parse(
      "# syntax=docker/dockerfile:1\n"
      "ARG V=3.12\n"
      "FROM --platform=$BUILDPLATFORM golang:1.22 AS Build\n"
      "RUN go build\n"
      "from python:${V}\n"
      "COPY --from=build /x /x\n");
  ASSERT_TRUE(file) << error_of(file);
  ASSERT_EQ(file->arguments.size(), 1U);
  EXPECT_EQ(file->arguments[0].line, 2);
  ASSERT_EQ(file->stages.size(), 2U);
  EXPECT_EQ(file->stages[0].name, "build");
  EXPECT_EQ(file->stages[0].platform, "$BUILDPLATFORM");
  EXPECT_EQ(file->stages[0].image, "golang:1.22");
  EXPECT_EQ(file->stages[0].line, 3);
  EXPECT_EQ(file->stages[1].name, "");
  EXPECT_EQ(file->stages[1].image, "python:${V}");
  EXPECT_EQ(file->stages[1].instructions[0].line, 6);
}

TEST(ParseTest, DirectivesStandBeforeAllElse) {
  const auto file = parse("# escape=`\nFROM a\nRUN a `\n b\nCOPY c:\\x d\\\n");
  ASSERT_TRUE(file) << error_of(file);
  EXPECT_EQ(file->escape, '`');
  ASSERT_EQ(file->stages[0].instructions.size(), 2U);
  EXPECT_EQ(file->stages[0].instructions[0].text, "RUN a  b");
  EXPECT_EQ(parse("# a comment\n# escape=`\nFROM a\n")->escape, '\\');
  EXPECT_EQ(parse("\n# escape=`\nFROM a\n")->escape, '\\');
  EXPECT_EQ(parse("#escape = `\r\nFROM a\n")->escape, '`');
  EXPECT_EQ(error_of(parse("# escape=x\nFROM a")),
            "line 1: the escape character can be \\ or `, not x");
  EXPECT_EQ(error_of(parse("# syntax=a\n# syntax=b\nFROM a")),
            "line 2: the directive syntax is there twice");
}

TEST(ParseTest, AFileWithoutAStageIsAnError) {
  EXPECT_EQ(error_of(parse("")), "line 1: there is no FROM");
  EXPECT_EQ(error_of(parse("# only\nARG a\n")), "line 1: there is no FROM");
  EXPECT_EQ(error_of(parse("RUN x\nFROM a")),
            "line 1: RUN stands before the first FROM. Only ARG may");
  EXPECT_EQ(error_of(parse("FRUM a")), "line 1: there is no instruction FRUM");
  EXPECT_EQ(error_of(parse(std::string("FROM a\nRUN \0", 12))),
            "line 2: there is a NUL byte: this is no text");
  EXPECT_EQ(error_of(parse(std::string(kMostBytes + 1, ' '))),
            "line 1: a Dockerfile may have 1 MiB");
  EXPECT_TRUE(
      parse("\xef\xbb\xbf"
            "FROM a"));
}

TEST(ParseTest, LinesAreCountedThroughContinuationsAndHeredocs) {
  const auto file = stage_with("RUN a \\\n # c\n b\nCOPY <<X /x\n1\n2\nX\n\nRUN c");
  ASSERT_TRUE(file) << error_of(file);
  const auto& all = file->stages[0].instructions;
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].line, 2);
  EXPECT_EQ(all[1].line, 5);
  EXPECT_EQ(all[2].line, 10);
}

TEST(ParseTest, HeredocsKnowTheirDelimiter) {
  const auto run = only<dockerfile::Run>("RUN <<-\"EOF\"\n\t\ta\n\tb $x\n\tEOF");
  ASSERT_EQ(run.heredocs.size(), 1U);
  EXPECT_FALSE(run.heredocs[0].expands);
  EXPECT_TRUE(run.heredocs[0].strips_tabs);
  EXPECT_EQ(text_of(run.heredocs[0]), "a\nb $x\n");
  EXPECT_TRUE(only<dockerfile::Run>("RUN 3<<EOF\nEOF").heredocs[0].expands);
}

TEST(ParseTest, MountsHaveTheirOptions) {
  const auto mounts =
      only<dockerfile::Run>(
          "RUN --mount=type=cache,id=pip,target=/c,sharing=locked,mode=0700,uid=1,gid=2,ro"
          " --mount=type=bind,from=build,source=/s,target=t,rw"
          " --mount=type=tmpfs,dst=/m,size=64m"
          " --mount=type=secret,id=key,env=KEY,required"
          " --mount=type=secret,target=/run/x/token,mode=0440 x")
          .mounts;
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mounts[0], (Mount{.type = MountType::kCache,
                              .target = "/c",
                              .id = "pip",
                              .read_only = true,
                              .sharing = Sharing::kLocked,
                              .uid = 1,
                              .gid = 2,
                              .mode = 0700}));
  EXPECT_EQ(mounts[1], (Mount{.target = "t", .source = "/s", .from = "build"}));
  EXPECT_EQ(mounts[2], (Mount{.type = MountType::kTmpfs, .target = "/m", .size = 64U << 20U}));
  EXPECT_EQ(
      mounts[3],
      (Mount{
          .type = MountType::kSecret, .target = "", .id = "key", .env = "KEY", .required = true}));
  EXPECT_EQ(
      mounts[4],
      (Mount{.type = MountType::kSecret, .target = "/run/x/token", .id = "token", .mode = 0440}));
  EXPECT_EQ(only<dockerfile::Run>("RUN --mount=type=cache,target=/c x").mounts[0].id, "/c");
  EXPECT_TRUE(only<dockerfile::Run>("RUN --mount=target=/c x").mounts[0].read_only);
}

TEST(ParseTest, IgnoredInstructionsAreToldToTheUser) {
  const auto file = stage_with("VOLUME /a\nHEALTHCHECK NONE\nCMD ['a']");
  ASSERT_TRUE(file) << error_of(file);
  ASSERT_EQ(file->notes.size(), 3U);
  EXPECT_EQ(file->notes[0],
            "line 2: VOLUME is ignored: the directory is part of the sandbox's disk");
  EXPECT_EQ(file->notes[1], "line 3: HEALTHCHECK is ignored: a sandbox reports its own state");
  EXPECT_TRUE(file->notes[2].starts_with("line 4: CMD has an array with single quotes"));
}

}  // namespace
}  // namespace cay::dockerfile
