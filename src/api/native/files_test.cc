#include "api/native/native_test.h"
#include "codec/base64.h"

namespace cay::api {
namespace {

TEST_F(NativeTest, WriteReadStatRemove) {
  const std::string at = make_box() + "/files?path=/data/a%2Bb.bin";
  const std::string bytes(200'000, '\xFE');
  const auto written = call("PUT", at + "&mode=0600", bytes);
  ASSERT_EQ(written->status, 201) << written->answer_body;
  EXPECT_EQ(written->subject, "/data/a+b.bin") << "its query is not on record";
  EXPECT_EQ(json(written).at("mode").as_string(), "0600");
  EXPECT_EQ(files().bytes_of("/data/a+b.bin"), bytes);
  const auto got = call("GET", at);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->answer_body, bytes);
  EXPECT_EQ(got->length, bytes.size());
  const auto head = call("HEAD", at);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->length, bytes.size());
  EXPECT_EQ(head->headers.get("ETag"), got->headers.get("ETag"));
  EXPECT_EQ(head->headers.get("X-Cay-Mode"), "0600");
  const auto gone = call("DELETE", at);
  EXPECT_EQ(gone->status, 204);
  EXPECT_EQ(gone->subject, "/data/a+b.bin");
  EXPECT_EQ(call("GET", at)->status, 404);
  EXPECT_EQ(call("HEAD", at)->status, 404);
}

TEST_F(NativeTest, RangesAndConditions) {
  const std::string at = make_box() + "/files?path=/f";
  files().put("/f", "0123456789");
  const auto with = [&](const char* name, std::string value) {
    auto handle = exchange("GET", at);
    handle->request.headers.add(name, std::move(value));
    return handle;
  };
  const auto part = serve(with("Range", "bytes=2-4"));
  EXPECT_EQ(part->status, 206);
  EXPECT_EQ(part->answer_body, "234");
  EXPECT_EQ(part->headers.get("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(serve(with("Range", "bytes=-3"))->answer_body, "789");
  EXPECT_EQ(serve(with("Range", "bytes=8-99"))->answer_body, "89");
  const auto past = serve(with("Range", "bytes=10-"));
  EXPECT_EQ(past->status, 416);
  EXPECT_EQ(past->headers.get("Content-Range"), "bytes */10");
  EXPECT_EQ(serve(with("Range", "lines=1"))->status, 200);
  const std::string tag(*part->headers.get("ETag"));
  EXPECT_EQ(serve(with("If-None-Match", tag))->status, 304);
  EXPECT_EQ(serve(with("If-None-Match", "\"x\""))->status, 200);
  auto stale = with("Range", "bytes=2-4");
  stale->request.headers.add("If-Range", "\"x\"");
  EXPECT_EQ(serve(stale)->answer_body, "0123456789");
  auto fresh = with("Range", "bytes=2-4");
  fresh->request.headers.add("If-Range", tag);
  EXPECT_EQ(serve(fresh)->status, 206);
}

TEST_F(NativeTest, DirectoriesAndSearch) {
  const std::string box = make_box();
  EXPECT_EQ(call("POST", box + "/files/mkdir", R"({"path":"/d/e","mode":"0700"})")->status, 204);
  files().put("/d/a.txt", "one\nneedle two\n");
  EXPECT_EQ(json(call("GET", box + "/files/list?path=/d")).at("items").as_array().size(), 2u);
  EXPECT_EQ(json(call("GET", box + "/files/stat?path=/d")).at("kind").as_string(), "directory");
  EXPECT_EQ(json(call("POST", box + "/files/glob", R"({"path":"/d","pattern":"*.txt"})"))
                .at("items")
                .as_array()
                .size(),
            1u);
  const auto grep = json(call("POST", box + "/files/grep", R"({"path":"/d","text":"needle"})"));
  EXPECT_EQ(grep.at("items").at(0).at("line").as_int64(), 2);
  EXPECT_EQ(call("POST", box + "/files/rename", R"({"from":"/d/a.txt","to":"/d/b.txt"})")->status,
            204);
  EXPECT_TRUE(files().bytes_of("/d/b.txt"));
  EXPECT_EQ(call("GET", box + "/files?path=/d")->status, 400);
  EXPECT_EQ(call("DELETE", box + "/files?path=/d&recursive=true")->status, 204);
}

// Code inside chooses names and lines: a control character is six bytes of JSON, and one that is no
// text more than four.
TEST_F(NativeTest, AListingThatNoAnswerHoldsIsRefused) {
  const std::string box = make_box();
  for (const char* byte : {"\x01", "\xff"}) {
    const std::string dir = *byte == 1 ? "/control" : "/bytes";
    std::string name;
    while (name.size() < 1'000'000) name += byte;
    for (int i = 0; i < 10; ++i) files().put(dir + "/" + std::to_string(i) + name, "needle");
    EXPECT_EQ(call("GET", box + "/files/list?path=" + dir)->status, 200);
    for (int i = 10; i < 20; ++i) files().put(dir + "/" + std::to_string(i) + name, "needle");
    const std::string where = R"({"path":")" + dir + "\",";
    for (const auto& got : {call("GET", box + "/files/list?path=" + dir),
                            call("POST", box + "/files/glob", where + R"("pattern":"*"})"),
                            call("POST", box + "/files/grep", where + R"("text":"needle"})")}) {
      EXPECT_EQ(got->status, 429);
      EXPECT_EQ(reason_of(got), "listing_too_large");
    }
  }
}

TEST_F(NativeTest, BadFileRequests) {
  const std::string box = make_box();
  EXPECT_EQ(call("GET", box + "/files")->status, 400);
  EXPECT_EQ(call("PUT", box + "/files?path=/f&mode=9", "x")->status, 400);
  EXPECT_EQ(call("POST", box + "/files/mkdir", "{}")->status, 400);
  EXPECT_EQ(call("POST", box + "/files/rename", R"({"from":"/x"})")->status, 400);
  EXPECT_EQ(call("POST", box + "/files/glob", R"({"pattern":"*","limit":0})")->status, 400);
  EXPECT_EQ(call("POST", box + "/files/grep", R"({"pattern":"*"})")->status, 400);
  EXPECT_EQ(call("DELETE", box + "/files?path=/none")->status, 404);
  EXPECT_EQ(call("GET", "/api/v1/sandboxes/none/files?path=/x")->status, 404);
  files().disk_full = true;
  EXPECT_EQ(call("PUT", box + "/files?path=/f", "x")->status, 429);
}

TEST_F(NativeTest, TreesThereAndBack) {
  const std::string box = make_box();
  files().put("/src/a.txt", "hello");
  files().put("/src/sub/big", std::string(100'000, 'z'), 0755);
  const auto tar = call("GET", box + "/files/tree?path=/src");
  ASSERT_EQ(tar->status, 200);
  EXPECT_FALSE(tar->broken);
  EXPECT_EQ(tar->answer_body.size() % 512, 0u);
  const auto put = call("PUT", box + "/files/tree?path=/copy", tar->answer_body);
  ASSERT_EQ(put->status, 204) << put->answer_body;
  EXPECT_EQ(files().bytes_of("/copy/a.txt"), "hello");
  EXPECT_EQ(files().bytes_of("/copy/sub/big"), std::string(100'000, 'z'));
  EXPECT_EQ(call("PUT", box + "/files/tree?path=/copy", "garbage")->status, 400);
  EXPECT_EQ(call("GET", box + "/files/tree?path=/none")->status, 404);
}

TEST_F(NativeTest, BatchIsOneRoundTrip) {
  const std::string box = make_box();
  commands().program = [this](const CommandSpec&) {
    files().put("/out.bin", "\xFF");
    testing::FakeProgram program;
    program.output = {{Stream::kStdout, "done"}};
    program.end = core::testing::exited(3);
    return program;
  };
  const auto got = call(
      "POST", box + "/batch",
      R"({"writes":[{"path":"/in.txt","content":"x"},{"path":"/in.bin","content_base64":"/w==",)"
      R"("mode":"0755"}],
                            "command":{"argv":["make"]},"reads":["/out.bin","/none"]})");
  ASSERT_EQ(got->status, 200) << got->answer_body;
  const auto body = json(got);
  EXPECT_EQ(files().bytes_of("/in.bin"), "\xFF");
  EXPECT_EQ(body.at("writes").as_array().size(), 2u);
  EXPECT_EQ(body.at("command").at("exit_code").as_int64(), 3);
  EXPECT_EQ(body.at("command").at("stdout").as_string(), "done");
  EXPECT_EQ(body.at("reads").at(0).at("content_base64").as_string(), "/w==");
  EXPECT_EQ(body.at("reads").at(1).at("error").at("code").as_string(), "not_found");
}

TEST_F(NativeTest, BadBatchesDoNothing) {
  const std::string box = make_box();
  for (const auto* bad :
       {R"({"writes":[{"path":"/a"}]})", R"({"writes":[{"content":"x"}]})", R"({"writes":["x"]})",
        R"({"writes":[{"path":"/a","content":"x"}],"command":{}})",
        R"({"command":{"argv":["x"],"wait":false}})", R"({"reads":[1]})", R"({"what":1})"}) {
    EXPECT_EQ(call("POST", box + "/batch", bad)->status, 400) << bad;
  }
  EXPECT_FALSE(files().bytes_of("/a"));
  EXPECT_TRUE(commands().started.empty());
}

}  // namespace
}  // namespace cay::api
