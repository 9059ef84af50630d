// The pure parts of the toolbox: texts in, texts out.
#include <gtest/gtest.h>

#include "api/daytona/toolbox/base64url.h"
#include "api/daytona/toolbox/bulk.h"
#include "api/daytona/toolbox/charts.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/file_json.h"
#include "api/daytona/toolbox/lsp_frames.h"
#include "api/daytona/toolbox/machine.h"
#include "api/daytona/toolbox/mux.h"
#include "api/daytona/toolbox/pty.h"
#include "api/daytona/toolbox/request.h"
#include "api/daytona/toolbox/signed_files.h"

namespace cay::api::daytona {
namespace {

TEST(DaytonaPaths, CountFromTheWorkingDirectory) {
  EXPECT_EQ(joined_path("/home/daytona", ""), "/home/daytona");
  EXPECT_EQ(joined_path("/home/daytona", "a/./b"), "/home/daytona/a/b");
  EXPECT_EQ(joined_path("/home/daytona", "../x//y/"), "/home/x/y");
  EXPECT_EQ(joined_path("/home/daytona", "/etc/../tmp"), "/tmp");
  EXPECT_EQ(joined_path("/a", "../../.."), "/");
}

TEST(DaytonaHome, ComesFromPasswd) {
  const std::string passwd =
      "root:x:0:0:root:/root:/bin/sh\nana:x:1000:1000:Ana,,,:/home/ana:/bin/bash\nbroken\n";
  EXPECT_EQ(home_in_passwd(passwd, ""), "/root");
  EXPECT_EQ(home_in_passwd(passwd, "ana"), "/home/ana");
  EXPECT_EQ(home_in_passwd(passwd, "1000:1000"), "/home/ana");
  EXPECT_EQ(home_in_passwd(passwd, "ben"), "/");
  EXPECT_EQ(home_in_passwd("", "root"), "/root");
}

TEST(DaytonaModes, AreThoseOfGo) {
  EXPECT_EQ(go_mode(FileKind::kFile, 0644), "-rw-r--r--");
  EXPECT_EQ(go_mode(FileKind::kDirectory, 0755), "drwxr-xr-x");
  EXPECT_EQ(go_mode(FileKind::kDirectory, 01777), "dtrwxrwxrwx");
  EXPECT_EQ(go_mode(FileKind::kSymlink, 0777), "Lrwxrwxrwx");
  EXPECT_EQ(go_mode(FileKind::kFile, 04755), "urwxr-xr-x");
  EXPECT_EQ(*octal_mode("0644"), 0644u);
  EXPECT_EQ(*octal_mode("755"), 0755u);
  for (const char* bad : {"", "8", "77777", "0x1", "-1", "644 "}) EXPECT_FALSE(octal_mode(bad));
}

TEST(DaytonaTimes, AreThoseOfGo) {
  EXPECT_EQ(go_time(0), "1970-01-01 00:00:00 +0000 UTC");
  EXPECT_EQ(go_time(1'500'000'000), "1970-01-01 00:00:01.5 +0000 UTC");
  EXPECT_EQ(go_time(1'000'000'001), "1970-01-01 00:00:01.000000001 +0000 UTC");
  EXPECT_EQ(go_time(-500'000'000), "1969-12-31 23:59:59.5 +0000 UTC");
}

TEST(DaytonaFiles, HaveNamesOrNumbersOfOwners) {
  FileInfo info;
  info.path = "/a/b.txt";
  info.mode = 0644;
  info.gid = 8;
  info.owner = "ana";
  const auto out = file_json(info, false);
  EXPECT_EQ(out.at("name"), "b.txt");
  EXPECT_EQ(out.at("owner"), "ana");
  EXPECT_EQ(out.at("group"), "8");
  EXPECT_EQ(out.at("permissions"), "0644");
  EXPECT_FALSE(out.contains("path"));
  EXPECT_EQ(base_name("/"), "/");
  EXPECT_EQ(base_name("a/"), "a");
}

TEST(DaytonaBulk, NamesItsParts) {
  EXPECT_EQ(bulk_name("files[12].path")->index, 12u);
  EXPECT_FALSE(bulk_name("files[12].path")->is_file);
  EXPECT_TRUE(bulk_name("files[0].file")->is_file);
  for (const char* bad : {"files[].path", "files[1]", "files[1].other", "file", "files[-1].file",
                          "files[99999999999].file"})
    EXPECT_FALSE(bulk_name(bad)) << bad;
}

TEST(DaytonaBulk, QuotesPaths) {
  EXPECT_EQ(
      bulk_head({.name = "file", .path = "a\"b\\\r\nX: y", .type = "text/plain", .length = 3}),
      "Content-Disposition: form-data; name=\"file\"; "
      "filename=\"a\\\"b\\\\%0D%0AX: y\"\r\nContent-Type: text/plain\r\n"
      "Content-Length: 3\r\n\r\n");
}

TEST(DaytonaMux, MarksLinesAndChanges) {
  const std::string o(kStdoutMark), e(kStderrMark);
  MuxWriter mux;
  EXPECT_EQ(mux.add(Stream::kStdout, "a\nb"), o + "a\n" + o + "b");
  EXPECT_EQ(mux.add(Stream::kStdout, "c"), "c");
  EXPECT_EQ(mux.add(Stream::kStderr, "x\n"), e + "x\n");
  EXPECT_EQ(mux.add(Stream::kStdout, "\n"), o + "\n");
  EXPECT_EQ(mux.add(Stream::kStdout, ""), "");
}

TEST(DaytonaVersions, ChooseTheFormOfLogs) {
  EXPECT_EQ(log_form_of_version("0.226.1"), LogForm::kJson);
  EXPECT_EQ(log_form_of_version("v0.167.0"), LogForm::kJson);
  EXPECT_EQ(log_form_of_version("0.166.9"), LogForm::kMarks);
  EXPECT_EQ(log_form_of_version("0.27.0"), LogForm::kMarks);
  EXPECT_EQ(log_form_of_version("0.26.9"), LogForm::kPlain);
  EXPECT_EQ(log_form_of_version("0.0.0-dev"), LogForm::kJson);
  EXPECT_EQ(log_form_of_version("1.2"), LogForm::kJson);
  for (const char* none : {"", "x", "0", "99999999999.1"})
    EXPECT_EQ(log_form_of_version(none), LogForm::kPlain) << none;
}

TEST(DaytonaVersions, ComeByHeaderOrSubprotocol) {
  http::RequestHead head;
  EXPECT_EQ(log_form_of(head), LogForm::kPlain);
  head.headers.add("X-Daytona-Split-Output", "true");
  EXPECT_EQ(log_form_of(head), LogForm::kMarks);
  head.headers.add("Sec-WebSocket-Protocol", "other, X-Daytona-SDK-Version~0.218.0");
  EXPECT_EQ(log_form_of(head), LogForm::kJson);
  EXPECT_EQ(offered_protocol(head, "X-Daytona-"), "X-Daytona-SDK-Version~0.218.0");
  EXPECT_FALSE(offered_protocol(head, "Y"));
}

// The vector is of the vendor's own client.
TEST(DaytonaSignatures, AreThoseOfTheClients) {
  EXPECT_EQ(file_signature("c2lnbmluZ2tleQ", "GET", "a/b.txt", "1795229266"),
            "v1_bXL-iLey800DOKRCl-MKvZD3O0mBGNOsvbrpxh0cnU4");
}

TEST(DaytonaSignatures, EndWithTheirTimeAndTheirKey) {
  constexpr std::int64_t kExpiry = 1795229266;
  http::RequestHead head;
  head.method = "GET";
  head.query = *http::Query::parse(
      "path=a/b.txt&expires=1795229266&signature=v1_bXL-iLey800DOKRCl-MKvZD3O0mBGNOsvbrpxh0cnU4");
  EXPECT_TRUE(has_signature(head));
  EXPECT_TRUE(check_signature(head, "c2lnbmluZ2tleQ", kExpiry - 1));
  EXPECT_FALSE(check_signature(head, "c2lnbmluZ2tleQ", kExpiry));
  EXPECT_FALSE(check_signature(head, "another", kExpiry - 1));
  EXPECT_FALSE(check_signature(head, "", kExpiry - 1));
  head.method = "POST";
  EXPECT_FALSE(check_signature(head, "c2lnbmluZ2tleQ", kExpiry - 1));
  head.headers.add("Authorization", "Bearer key");
  EXPECT_FALSE(has_signature(head));
}

TEST(DaytonaSignatures, WithoutAnEndStay) {
  http::RequestHead head;
  head.method = "GET";
  head.query =
      *http::Query::parse("path=x&expires=0&signature=" + file_signature("key", "GET", "x", "0"));
  EXPECT_TRUE(check_signature(head, "key", INT64_MAX));
}

TEST(DaytonaCharts, AreTakenOutOfTheOutput) {
  std::string text =
      "a\ndtn_artifact_k39fd2:{\"type\":\"line\"}\nb dtn_artifact_k39fd2:{}\n"
      "dtn_artifact_k39fd2:broken\nc";
  const auto charts = take_charts(text);
  EXPECT_EQ(charts.size(), 2u);
  EXPECT_EQ(charts[0].at("type"), "line");
  EXPECT_EQ(text, "a\nb dtn_artifact_k39fd2:broken\nc");
}

TEST(DaytonaMachine, ReadsListenersAndDisks) {
  const auto ports = listening_ports(
      "  sl  local_address rem_address   st\n"
      "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000\n"
      "   1: 0100007F:0BB8 0100007F:1234 01 00000000:00000000\n"
      "   2: 010000C0:0035 00000000:0000 0A 00000000:00000000\n"
      "   0: 00000000000000000000000000000000:0BB9 0000:0000 0A\n"
      "   1: 796163FD657461670000000002000000:F499 0000:0000 0A\n"
      "garbage 0A 0A 0A\n");
  EXPECT_EQ(ports, (std::set<std::uint16_t>{8080, 3001}));
  const auto disk = disk_space(
      "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
      "overlay 100 40 60 40% /\n");
  EXPECT_EQ(disk->total, 102400u);
  EXPECT_EQ(disk->free, 61440u);
  EXPECT_FALSE(disk_space("one line"));
  EXPECT_EQ(memory_value("MemTotal: 10 kB\nCached:   3 kB\n", "Cached"), 3072u);
  EXPECT_FALSE(memory_value("SwapCached: 3 kB\n", "Cached"));
}

TEST(DaytonaPtys, AreFoundByTheirMarks) {
  PtySpec spec{.id = "a \"b\"\n", .cwd = "/w", .envs = {{"A", "x\ny"}}, .size = {30, 100}};
  const std::string mark = pty_mark(spec);
  EXPECT_EQ(mark.find('\n'), std::string::npos);
  const auto read = pty_from_mark(mark);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, spec.id);
  EXPECT_EQ(read->envs, spec.envs);
  EXPECT_EQ(read->size, spec.size);
  for (const char* other : {"", "daytona-pty x", "daytona-pty {}", "context a 1 bash"})
    EXPECT_FALSE(pty_from_mark(other)) << other;
  EXPECT_TRUE(is_valid_command_id(pty_command_id("x/../y").get()));
}

TEST(DaytonaLspFrames, AreCutOutOfTheStream) {
  const std::string one = lsp_frame({{"id", 1}});
  LspFrames frames;
  frames.feed(one.substr(0, 5));
  EXPECT_FALSE(frames.next()->has_value());
  frames.feed(one.substr(5) + "content-length: 2\r\nX: y\r\n\r\n{}Con");
  EXPECT_EQ(**frames.next(), "{\"id\":1}");
  EXPECT_EQ(**frames.next(), "{}");
  EXPECT_EQ(frames.rest(), 3u);
  LspFrames broken;
  broken.feed("Length: 3\r\n\r\n");
  EXPECT_FALSE(broken.next());
  LspFrames huge;
  huge.feed("Content-Length: 99999999999\r\n\r\n");
  EXPECT_FALSE(huge.next());
}

TEST(DaytonaErrors, HaveTheVendorsWords) {
  const auto refusal = toolbox_refusal(vendor_error(kSessionEnded, "x"));
  EXPECT_EQ(refusal.status, 410);
  EXPECT_EQ(refusal.code, "SESSION_ENDED");
  EXPECT_EQ(toolbox_refusal(Error{Code::kNotFound, "file_not_found", "", 0}).code,
            "FILE_NOT_FOUND");
  EXPECT_EQ(toolbox_refusal(Error{Code::kLost, "command_lost", "", 0}).status, 500);
}

TEST(DaytonaBase64url, HasNoPadding) {
  EXPECT_EQ(base64url("\xfb\xff"), "-_8");
  EXPECT_EQ(from_base64url("-_8"), "\xfb\xff");
  EXPECT_EQ(from_base64url("-_8="), "\xfb\xff");
  EXPECT_FALSE(from_base64url("+/8"));
}

}  // namespace
}  // namespace cay::api::daytona
