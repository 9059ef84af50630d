// Bodies that are parsed as they stream in: tar and multipart. The first byte chooses the parser and
// how the rest is cut.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>

#include "api/common/ranges.h"
#include "api/common/tar.h"
#include "api/langsmith/multipart.h"
#include "base/assert.h"

namespace {

class Chunks : public cay::ByteSource {
 public:
  Chunks(std::string bytes, std::size_t chunk) : bytes_(std::move(bytes)), chunk_(chunk) {}
  cay::Task<cay::Bytes> next() override {
    cay::Bytes out = bytes_.substr(at_, chunk_);
    at_ += out.size();
    co_return out;
  }

 private:
  std::string bytes_;
  std::size_t chunk_;
  std::size_t at_ = 0;
};

boost::asio::awaitable<void> read_tar(std::unique_ptr<cay::ByteSource> source) {
  auto tree = cay::api::tree_of_tar(std::move(source));
  for (;;) {
    auto event = co_await tree->next();
    if (!event || !*event) co_return;
    if (const auto* entry = std::get_if<cay::core::TreeEntry>(&**event)) {
      const std::string path = "/" + entry->info.path + "/";
      CAY_ASSERT(path.find("/../") == std::string::npos && !entry->info.path.starts_with('/'));
      CAY_ASSERT(path.find('\0') == std::string::npos);
    }
  }
}

boost::asio::awaitable<void> read_multipart(std::unique_ptr<cay::ByteSource> source) {
  auto file = cay::api::langsmith::multipart_file("b", std::move(source));
  for (;;) {
    auto bytes = co_await file->next();
    if (!bytes || bytes->empty()) co_return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  static_cast<void>(cay::api::range_of(in, 1000));
  static_cast<void>(cay::api::langsmith::boundary_of(in));
  auto source = std::make_unique<Chunks>(std::string(in), static_cast<std::size_t>(data[0] >> 1) * 4 + 1);
  boost::asio::io_context loop;
  auto work = (data[0] & 1) != 0 ? read_tar(std::move(source)) : read_multipart(std::move(source));
  boost::asio::co_spawn(loop, std::move(work), [](const std::exception_ptr& failure) { CAY_ASSERT(failure == nullptr); });
  loop.run();
  return 0;
}
