#include "core/sandbox_trust.h"

#include "async/bytes.h"
#include "core/registry.h"

namespace cay::core {
namespace {

constexpr const char* kBundle = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kAlone = "/etc/ssl/certs/cay-sandbox.pem";
constexpr const char* kForUpdates =
    "/usr/local/share/ca-certificates/cay-sandbox.crt";  // update-ca-certificates puts it in the
                                                         // bundle again
constexpr const char* kBegin =
    "# Cay: the authority of this sandbox, which ends TLS for the hosts of its proxy rules\n";
constexpr const char* kEnd = "# Cay: end\n";
constexpr std::size_t kMostBundle = 16u << 20;

FileAs as_root() {
  FileAs as;
  as.user = "root";
  return as;
}

Task<void> write_text(std::shared_ptr<LiveSandbox> live, std::string path, std::string text) {
  WriteOptions options;
  options.as = as_root();
  auto written = co_await live->write(std::move(path), options, source_of(std::move(text)));
  if (!written)
    co_return std::move(written).error().while_doing(
        "give the sandbox its authority's certificate");
  co_return Result<void>();
}

}  // namespace

Task<void> SandboxTrust::put(std::shared_ptr<LiveSandbox> live, std::string certificate) {
  if (certificate.empty()) co_return Result<void>();
  const ReadRange whole;
  std::string bundle;
  auto file = co_await live->read(kBundle, as_root(), whole);
  if (file) {
    auto source = std::move(file->bytes);
    CAY_CO_TRY(bundle, co_await read_all(std::move(source), kMostBundle));
  } else if (file.error().code != Code::kNotFound) {
    co_return std::move(file).error();
  }
  const std::string part = kBegin + certificate + kEnd;
  const std::size_t begin = bundle.find(kBegin);
  const std::size_t end = begin == std::string::npos ? begin : bundle.find(kEnd, begin);
  const bool there = bundle.find(part) != std::string::npos;
  if (!there) {
    if (end != std::string::npos) bundle.erase(begin, end + std::string_view(kEnd).size() - begin);
    if (!bundle.empty() && !bundle.ends_with('\n')) bundle += '\n';
    CAY_CO_CHECK(co_await write_text(live, kBundle, bundle + part));
  }
  CAY_CO_CHECK(co_await write_text(live, kAlone, certificate));
  auto written = co_await write_text(live, kForUpdates, certificate);
  co_return written;
}

Task<void> SandboxTrust::make(std::shared_ptr<Entry> entry, std::string certificate) {
  const auto live = entry->live;
  if (!live || !entry->runs()) co_return Result<void>();  // its next start does it
  auto trusted = co_await put(live, std::move(certificate));
  co_return trusted;
}

Task<void> SandboxTrust::renew(std::shared_ptr<Entry> entry, std::string certificate) {
  const auto live = entry->live;
  if (!live || !entry->runs() || certificate.empty()) co_return Result<void>();
  const ReadRange whole;
  auto file = co_await live->read(kAlone, as_root(), whole);
  if (file) {
    auto source = std::move(file->bytes);
    const auto text = co_await read_all(std::move(source), kMostBundle);
    if (text && *text == certificate) co_return Result<void>();
  }
  auto trusted = co_await make(std::move(entry), std::move(certificate));
  co_return trusted;
}

// One after the other, and each certificate once: a broker that comes and goes must not have every
// sandbox's files read again.
Task<void> SandboxTrust::renew_all(std::vector<Trusting> all) {
  for (auto& [entry, certificate] : all) {
    const auto known = renewed_.find(entry->row.id);
    if (known != renewed_.end() && known->second == certificate) continue;
    auto done = co_await renew(entry, certificate);
    if (!done)
      jobs_.warn("sandbox " + entry->row.name +
                 " does not trust its own authority: " + done.error().message);
    if (done && entry->live && entry->runs()) renewed_[entry->row.id] = std::move(certificate);
  }
  co_return Result<void>();
}

}  // namespace cay::core
