#include "vault/secret_matcher.h"

#include <openssl/evp.h>

#include <algorithm>
#include <new>

namespace cay::vault {
namespace {

std::size_t number_of(char c) { return static_cast<unsigned char>(c); }

std::string digest_of(std::string_view secret) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const int done = ::EVP_Digest(secret.data(), secret.size(), out, &size, ::EVP_sha256(), nullptr);
  if (done != 1) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(out), size};
}

}  // namespace

void SecretMatcher::add(std::string_view secret) {
  Shared& encodings = secrets_[digest_of(secret)];
  if (encodings) return;
  encodings = std::make_shared<const SecretEncodings>(secret);
  index();
}

void SecretMatcher::index() {
  const auto first = [](const Candidate& one) { return number_of(one.pattern->text.view()[0]); };
  candidates_.clear();
  longest_ = 0;
  for (const auto& [digest, secret] : secrets_) {
    longest_ = std::max(longest_, secret->longest());
    for (const auto& pattern : secret->patterns()) candidates_.push_back({secret.get(), &pattern});
  }
  std::ranges::sort(candidates_, {}, first);
  may_begin_.reset();
  for (const Candidate& one : candidates_) {
    const std::string_view text = one.pattern->text.view();
    for (const char second : {text[1], '%', '\\', '+', ' ', '\t', '\r', '\n'})
      may_begin_.set(number_of(text[0]) * kValues + number_of(second));
  }
  for (std::size_t value = 0; value <= kValues; ++value) {
    const auto begin = std::ranges::lower_bound(candidates_, value, {}, first);
    first_[value] = static_cast<std::uint32_t>(begin - candidates_.begin());
  }
}

bool SecretMatcher::finds_in(std::string_view text) const {
  if (secrets_.empty()) return false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const bool may_begin =
        text.size() > 1 && may_begin_[number_of(text[0]) * kValues + number_of(text[1])];
    if (may_begin && begins_at(text, Escaping::kNone)) return true;
    if (text[0] == '%' && begins_at(text, Escaping::kPercent)) return true;
    if (text[0] == '\\' && begins_at(text, Escaping::kJson)) return true;
  }
  return false;
}

bool SecretMatcher::begins_at(std::string_view text, Escaping escaping) const {
  const std::size_t value = number_of(first_character(text, escaping).value);
  for (std::size_t i = first_[value]; i < first_[value + 1]; ++i) {
    const Candidate& one = candidates_[i];
    if (one.secret->begins(text, *one.pattern)) return true;
  }
  return false;
}

SecretMatcher EncodingCache::matcher(const SecretMatcher& before,
                                     const std::vector<Wiped>& secrets) {
  SecretMatcher out = before;
  for (const Wiped& secret : secrets) {
    const std::string digest = digest_of(secret.view());
    SecretMatcher::Shared& wanted = out.secrets_[digest];
    std::weak_ptr<const SecretEncodings>& known = all_[digest];
    if (!wanted) wanted = known.lock();
    if (!wanted) wanted = std::make_shared<const SecretEncodings>(secret.view());
    known = wanted;
  }
  std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
  if (out.secrets_.size() != before.secrets_.size()) out.index();
  return out;
}

std::size_t EncodingCache::size() const {
  const auto is_used = [](const auto& one) { return !one.second.expired(); };
  return static_cast<std::size_t>(std::ranges::count_if(all_, is_used));
}

}  // namespace cay::vault
