#include "api/langsmith/recorded_build.h"

#include <algorithm>

#include "api/common/audit_subjects.h"
#include "async/bytes.h"
#include "base/ascii.h"
#include "codec/fields.h"
#include "core/verbs/files.h"

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kLongestImage = 200;
constexpr std::size_t kMostArguments = 1000;
constexpr std::uint64_t kMostRecord = 256 * 1024;
constexpr std::uint64_t kMostDockerfile = 1 << 20;

Error not_built(const std::string& image) {
  return invalid("image_not_built",
                 "no buildctl in this sandbox recorded an image '" +
                     image.substr(0, kLongestImage) +
                     "': docker_image names one that the default snapshot's buildctl recorded. "
                     "Leave it out to capture the sandbox's own disk");
}

Error bad_record(const std::string& why) {
  return invalid("bad_build_record", "the recorded build cannot be used: " + why);
}

// The file that buildctl writes, by the same rule.
std::optional<std::string> record_of(const std::string& image) {
  const auto is_allowed = [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("._:/@-").find(c) != std::string_view::npos;
  };
  if (image.empty() || image.size() > kLongestImage || !std::ranges::all_of(image, is_allowed) ||
      std::string_view("._:/@-").find(image.front()) != std::string_view::npos) {
    return std::nullopt;
  }
  std::string name = image;
  std::ranges::replace(name, '/', '%');
  return "/var/lib/cay/builds/" + name + ".json";
}

Task<std::string> file_of(core::Cay& cay, Principal who, std::string sandbox, std::string path,
                          std::uint64_t most) {
  auto opening =
      cay.files().read(std::move(who), std::move(sandbox), std::move(path), FileAs{}, {});
  auto opened = co_await std::move(opening);
  if (!opened && opened.error().reason == "is_a_directory")
    co_return bad_record(opened.error().message);
  CAY_CO_TRY(core::FileStream file, std::move(opened));
  if (file.info.kind != FileKind::kFile || file.info.size > most) {
    co_return bad_record(file.info.path + " is no file of at most " + std::to_string(most) +
                         " bytes");
  }
  auto reading = read_all(std::move(file.bytes), most);
  CAY_CO_TRY(const Bytes bytes, co_await std::move(reading));
  co_return std::string(bytes.begin(), bytes.end());
}

Result<RecordedBuild> parsed(const std::string& text, const std::string& image,
                             std::string& dockerfile) {
  auto in = codec::parse_object(text);
  if (!in) return bad_record(in.error().message);
  codec::Fields fields(*in);
  RecordedBuild out;
  std::int64_t version = 0;
  std::string named;
  if (!fields.read("version", version, 1, 1)) fields.complain("version", "must be 1");
  if (!fields.read("image", named) || named != image) fields.complain("image", "is another");
  fields.read("context", out.context, 4095);
  fields.read("dockerfile", dockerfile, 4095);
  if (!out.context.starts_with('/')) fields.complain("context", "is an absolute path");
  if (!dockerfile.starts_with('/')) fields.complain("dockerfile", "is an absolute path");
  fields.read("target", out.request.target, 128);
  fields.read("no_cache", out.request.no_cache);
  fields.read("build_args", out.request.arguments, kMostArguments);
  fields.refuse_unknown();
  if (auto checked = fields.first_error(); !checked) return bad_record(checked.error().message);
  return out;
}

}  // namespace

Task<RecordedBuild> recorded_build(core::Cay& cay, Principal who, std::string sandbox,
                                   std::string image) {
  const auto record = record_of(image);
  if (!record) co_return not_built(image);
  auto reading = file_of(cay, who, sandbox, *record, kMostRecord);
  auto text = co_await std::move(reading);
  if (!text && text.error().code == Code::kNotFound && text.error().reason != "sandbox_not_found")
    co_return not_built(image);
  if (!text) co_return std::move(text).error();
  std::string dockerfile;
  CAY_CO_TRY(RecordedBuild build, parsed(*text, image, dockerfile));
  auto reading_dockerfile =
      file_of(cay, std::move(who), std::move(sandbox), dockerfile, kMostDockerfile);
  auto written = co_await std::move(reading_dockerfile);
  if (!written && written.error().code == Code::kNotFound &&
      written.error().reason != "sandbox_not_found") {
    co_return bad_record("there is no Dockerfile at " + dockerfile);
  }
  if (!written) co_return std::move(written).error();
  build.request.dockerfile = *std::move(written);
  co_return build;
}

}  // namespace cay::api::langsmith
