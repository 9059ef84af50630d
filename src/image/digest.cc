#include "image/digest.h"

#include <new>

namespace cay::image {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";
constexpr std::size_t kDigits = 64;

}  // namespace

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

void Digest::update(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::text() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), raw, &size);
  std::string out(kAlgorithm);
  for (unsigned i = 0; i < size; ++i) {
    constexpr char kHex[] = "0123456789abcdef";
    out += kHex[raw[i] >> 4];
    out += kHex[raw[i] & 0xf];
  }
  return out;
}

std::string digest_of(std::string_view bytes) {
  Digest digest;
  digest.update(bytes);
  return digest.text();
}

bool is_digest(std::string_view text) {
  return text.starts_with(kAlgorithm) && text.size() == kAlgorithm.size() + kDigits &&
         text.find_first_not_of("0123456789abcdef", kAlgorithm.size()) == std::string_view::npos;
}

std::string hex_of(std::string_view digest) {
  return std::string(digest.substr(kAlgorithm.size()));
}

}  // namespace cay::image
