#include "image/image_config.h"

#include <utility>

#include "codec/json.h"
#include "image/digest.h"
#include "image/json_fields.h"
#include "image/manifest.h"

namespace cay::image {
namespace {

constexpr std::size_t kMostText = 128 * 1024;  // of all strings: they travel in one frame

Error bad_config(const std::string& why) {
  return {Code::kInvalidArgument, "bad_image", "the image's configuration cannot be used: " + why,
          0};
}

// Collects strings, and notes what no program can take.
class Strings {
 public:
  std::string take(std::string text) {
    bytes_ += text.size();
    has_nul_ = has_nul_ || text.find('\0') != std::string::npos;
    return text;
  }
  std::vector<std::string> list(const json::object& object, std::string_view key) {
    std::vector<std::string> out;
    const json::array* array = array_in(object, key);
    if (array == nullptr) return out;
    for (const json::value& value : *array) {
      if (const json::string* text = value.if_string()) out.push_back(take(std::string(*text)));
      if (bytes_ > kMostText) break;
    }
    return out;
  }
  Result<void> check() const {
    if (has_nul_) return bad_config("a text in it has a NUL");
    if (bytes_ > kMostText) return bad_config("its texts are longer than 128 KiB");
    return {};
  }

 private:
  std::size_t bytes_ = 0;
  bool has_nul_ = false;
};

void read_run(const json::object& config, ImageConfig& out, Strings& strings) {
  if (std::string user = strings.take(string_in(config, "User")); !user.empty())
    out.run.user = std::move(user);
  if (std::string dir = strings.take(string_in(config, "WorkingDir")); dir.starts_with('/'))
    out.run.workdir = std::move(dir);
  for (const std::string& line : strings.list(config, "Env")) {
    const auto equals = line.find('=');
    if (equals != std::string::npos && equals > 0)
      out.run.env[line.substr(0, equals)] = line.substr(equals + 1);
  }
  out.entrypoint = strings.list(config, "Entrypoint");
  out.command = strings.list(config, "Cmd");
  if (const json::object* labels = object_in(config, "Labels")) {
    for (const auto& [name, value] : *labels) {
      if (const json::string* text = value.if_string())
        out.labels[strings.take(std::string(name))] = strings.take(std::string(*text));
    }
  }
  if (const json::object* ports = object_in(config, "ExposedPorts")) {
    for (const auto& [port, ignored] : *ports) out.ports.push_back(strings.take(std::string(port)));
  }
}

json::array array_of(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& one : texts) out.emplace_back(codec::text(one));
  return out;
}

}  // namespace

Result<ImageDescription> parse_image_config(std::string_view text) {
  if (text.size() > kMostManifestBytes) return bad_config("it is larger than 4 MiB");
  auto parsed = codec::parse_object(text);
  if (!parsed) return bad_config(parsed.error().message);
  ImageDescription out;
  Strings strings;
  out.platform = {string_in(*parsed, "os"), string_in(*parsed, "architecture"),
                  string_in(*parsed, "variant")};
  if (const json::object* config = object_in(*parsed, "config"))
    read_run(*config, out.config, strings);
  CAY_CHECK(strings.check());
  const json::object* rootfs = object_in(*parsed, "rootfs");
  const json::array* ids = rootfs == nullptr ? nullptr : array_in(*rootfs, "diff_ids");
  if (ids == nullptr) return bad_config("it has no rootfs.diff_ids");
  if (ids->size() > kMostLayers) return bad_config("it has more than 1000 layers");
  for (const json::value& value : *ids) {
    const json::string* id = value.if_string();
    if (id == nullptr || !is_digest(*id)) return bad_config("a diff_id in it is not sha256:...");
    out.diff_ids.emplace_back(*id);
  }
  return out;
}

std::string write_image_config(const ImageDescription& image) {
  json::object config;
  const ImageConfig& from = image.config;
  if (from.run.user) config["User"] = codec::text(*from.run.user);
  if (from.run.workdir) config["WorkingDir"] = codec::text(*from.run.workdir);
  json::array env;
  for (const auto& [name, value] : from.run.env) env.emplace_back(codec::text(name + "=" + value));
  config["Env"] = std::move(env);
  if (!from.entrypoint.empty()) config["Entrypoint"] = array_of(from.entrypoint);
  if (!from.command.empty()) config["Cmd"] = array_of(from.command);
  json::object labels;
  for (const auto& [name, value] : from.labels) labels[codec::text(name)] = codec::text(value);
  if (!labels.empty()) config["Labels"] = std::move(labels);
  json::object ports;
  for (const std::string& port : from.ports) ports[codec::text(port)] = json::object();
  if (!ports.empty()) config["ExposedPorts"] = std::move(ports);
  json::object out;
  out["architecture"] = image.platform.architecture;
  out["os"] = image.platform.os;
  if (!image.platform.variant.empty()) out["variant"] = image.platform.variant;
  out["config"] = std::move(config);
  out["rootfs"] = json::object{{"type", "layers"}, {"diff_ids", array_of(image.diff_ids)}};
  return codec::write(out);
}

}  // namespace cay::image
