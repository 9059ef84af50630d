#include "api/langsmith/langsmith_test.h"

namespace cay::api::langsmith {
namespace {

class FilesTest : public LangsmithTest {
 protected:
  FilesTest() : base(data_plane(make_box())) {}

  testing::ExchangeHandle upload(const std::string& path, const std::string& bytes) {
    auto handle =
        exchange("POST", base + "/upload?path=" + path,
                 "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n\r\n" +
                     bytes + "\r\n--b--\r\n");
    handle->request.headers.add("Content-Type", "multipart/form-data; boundary=b");
    handle->chunk = 13;
    return serve(handle);
  }
  std::string base;
};

TEST_F(FilesTest, UploadAndDownload) {
  EXPECT_EQ(upload("/data/a+b%2Bc.bin", std::string("x\0\xFF", 3))->status, 200);
  EXPECT_EQ(files().bytes_of("/data/a b+c.bin"), std::string("x\0\xFF", 3));
  const auto got = call("GET", base + "/download?path=%2Fdata%2Fa%20b%2Bc.bin");
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->answer_body, std::string("x\0\xFF", 3));
  const auto head = call("HEAD", base + "/download?path=/data/a+b%2Bc.bin");
  EXPECT_EQ(head->length, 3u);
  EXPECT_TRUE(head->headers.get("ETag"));
  EXPECT_TRUE(head->headers.get("Last-Modified"));
  auto same = exchange("HEAD", base + "/download?path=/data/a+b%2Bc.bin");
  same->request.headers.add("If-None-Match", std::string(*head->headers.get("ETag")));
  EXPECT_EQ(serve(same)->status, 304);
  auto range = exchange("HEAD", base + "/download?path=/data/a+b%2Bc.bin");
  range->request.headers.add("Range", "bytes=1-1");
  EXPECT_EQ(serve(range)->status, 200) << "ranges are GET's";
  EXPECT_EQ(range->length, 3u);
}

TEST_F(FilesTest, RelativePathsAreUnderTheUsersHome) {
  EXPECT_EQ(upload("notes.txt", "hi")->status, 200);
  EXPECT_EQ(files().bytes_of("/home/user/notes.txt"), "hi");
}

TEST_F(FilesTest, TypedErrors) {
  const auto missing = call("GET", base + "/download?path=/none");
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(type_of(missing), "FileNotFound");
  EXPECT_EQ(call("HEAD", base + "/download?path=/none")->status, 404);
  files().put_directory("/dir");
  const auto directory = call("GET", base + "/download?path=/dir");
  EXPECT_EQ(directory->status, 400);
  EXPECT_EQ(type_of(directory), "ReadError");
  EXPECT_NE(directory->answer_body.find("is a directory"), std::string::npos);
  EXPECT_EQ(call("HEAD", base + "/download?path=/dir")->status, 400) << "as GET";
  EXPECT_EQ(type_of(call("POST", base + "/upload?path=/x", "not multipart")), "WriteError");
  EXPECT_EQ(type_of(call("GET", base + "/download")), "ReadError");
  files().disk_full = true;
  const auto full = upload("/x", "y");
  EXPECT_EQ(full->status, 507);
  EXPECT_EQ(type_of(full), "WriteError");
  EXPECT_EQ(type_of(call("GET", "/v2/sandboxes/dp/none/download?path=/x")), "NotFound");
}

TEST_F(FilesTest, ACutUploadWritesNothing) {
  auto handle = exchange("POST", base + "/upload?path=/x",
                         "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhalf a fi");
  handle->request.headers.add("Content-Type", "multipart/form-data; boundary=b");
  serve(handle);
  EXPECT_EQ(handle->status, 400);
  EXPECT_FALSE(files().bytes_of("/x"));
}

TEST_F(FilesTest, Ranges) {
  files().put("/f", "0123456789");
  auto part = exchange("GET", base + "/download?path=/f");
  part->request.headers.add("Range", "bytes=-3");
  EXPECT_EQ(serve(part)->answer_body, "789");
  auto past = exchange("GET", base + "/download?path=/f");
  past->request.headers.add("Range", "bytes=99-");
  EXPECT_EQ(serve(past)->status, 416);
  EXPECT_EQ(past->headers.get("Content-Range"), "bytes */10");
}

TEST_F(FilesTest, GlobAndGrep) {
  files().put("/w/a.txt", "one\nneedle\n");
  const auto glob = json(call("POST", base + "/glob", R"({"pattern":"*","path":"/w"})"));
  EXPECT_EQ(glob.at("matches").at(0).at("path").as_string(), "/w/a.txt");
  EXPECT_FALSE(glob.at("matches").at(0).at("is_dir").as_bool());
  EXPECT_FALSE(glob.at("truncated").as_bool());
  const auto grep = json(call("POST", base + "/grep", R"({"pattern":"needle","path":"/w"})"));
  EXPECT_EQ(grep.at("matches").at(0).at("line").as_int64(), 2);
  EXPECT_EQ(call("POST", base + "/glob", R"({"pattern":"*","path":"/none"})")->status, 404);
  EXPECT_EQ(call("POST", base + "/glob", "{}")->status, 400);
}

}  // namespace
}  // namespace cay::api::langsmith
