#include "client/form_body.h"

#include <cstdio>
#include <random>
#include <utility>

namespace cay::client {
namespace {

// 128 random bits: no file contains them by chance, so nobody has to look.
std::string new_boundary() {
  constexpr int kWords = 4;
  std::random_device random;
  std::string out = "cay-";
  for (int i = 0; i < kWords; ++i) {
    char word[16];
    std::snprintf(word, sizeof word, "%08x", random());
    out += word;
  }
  return out;
}

std::string part_head(const std::string& boundary, const std::string& name, const std::string& more,
                      const std::string& type) {
  return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + "\"" + more +
         "\r\nContent-Type: " + type + "\r\n\r\n";
}

}  // namespace

FormBody::FormBody(const FormField& field, FormFile file)
    : boundary_(new_boundary()),
      head_(part_head(boundary_, field.name, "", field.content_type) + field.value + "\r\n" +
            part_head(boundary_, file.name, "; filename=\"" + file.name + "\"", file.content_type)),
      file_(std::move(file.bytes)) {}

std::string FormBody::content_type() const { return "multipart/form-data; boundary=" + boundary_; }

Task<Bytes> FormBody::next() {
  if (at_ == At::kField) {
    at_ = At::kFile;
    co_return std::exchange(head_, {});
  }
  if (at_ == At::kEnd) co_return Bytes();
  auto piece = co_await file_->next();
  if (!piece) co_return std::move(piece).error();
  if (!piece->empty()) co_return *std::move(piece);
  at_ = At::kEnd;
  co_return "\r\n--" + boundary_ + "--\r\n";
}

}  // namespace cay::client
