#include "api/langsmith/upload_body.h"

#include <utility>

#include "api/common/answer.h"
#include "api/common/multipart.h"

namespace cay::api::langsmith {
namespace {

Error not_one_file(const char* what) {
  return invalid("bad_multipart", std::string("the upload's multipart body ") + what);
}

class UploadBody final : public ByteSource {
 public:
  UploadBody(std::string boundary, std::unique_ptr<ByteSource> body)
      : parts_(std::move(boundary), std::move(body)) {}

  Task<Bytes> next() override {
    if (!std::exchange(begun_, true)) {
      CAY_CO_TRY(const auto part, co_await parts_.next_part());
      if (!part || part->name != "file")
        co_return not_one_file("must have one part, named \"file\"");
    }
    CAY_CO_TRY(Bytes bytes, co_await parts_.next());
    if (!bytes.empty()) co_return bytes;
    CAY_CO_TRY(const auto another, co_await parts_.next_part());
    if (another) co_return not_one_file("has more than one part");
    co_return Bytes();
  }

 private:
  MultipartReader parts_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> upload_body(std::string boundary, std::unique_ptr<ByteSource> body) {
  return std::make_unique<UploadBody>(std::move(boundary), std::move(body));
}

}  // namespace cay::api::langsmith
