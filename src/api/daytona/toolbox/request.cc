#include "api/daytona/toolbox/request.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "api/common/request_body.h"
#include "api/daytona/toolbox/errors.h"
#include "async/bytes.h"
#include "base/ascii.h"
#include "base/lines.h"
#include "core/ports/runtime.h"
#include "core/verbs/files.h"

namespace cay::api::daytona {
namespace {

constexpr std::size_t kMostPasswd = 4 << 20;
constexpr std::size_t kMostEnvs = 1024;
constexpr int kOctal = 8;
constexpr std::uint32_t kMostMode = 07777;

// Takes a field off the front of a line of /etc/passwd.
std::string_view next_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

}  // namespace

std::string joined_path(std::string_view base, std::string_view path) {
  std::vector<std::string_view> parts;
  const auto add = [&parts](std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('/'), text.size());
      const std::string_view part = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (!parts.empty()) {
        parts.pop_back();
      }
    }
  };
  if (!path.starts_with('/')) add(base);
  add(path);
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

std::string home_in_passwd(std::string_view passwd, std::string_view user) {
  const std::string_view name = user.empty() ? "root" : user.substr(0, user.find(':'));
  for (std::string_view line : lines_of(passwd)) {
    const std::string_view listed = next_field(line);
    next_field(line);  // the password
    const std::string_view uid = next_field(line);
    if (listed != name && uid != name) continue;
    next_field(line);  // the group
    next_field(line);  // the full name
    const std::string_view home = next_field(line);
    if (home.starts_with('/')) return std::string(home);
  }
  return name == "root" || name == "0" ? "/root" : "/";
}

std::string Box::absolute(std::string_view path) const { return joined_path(workdir, path); }

Task<std::string> home_of(core::Cay& cay, Box box) {
  const auto set = box.row.run.env.find("HOME");
  if (set != box.row.run.env.end() && set->second.starts_with('/')) co_return set->second;
  auto file = co_await cay.files().read(box.who, box.ref, "/etc/passwd", FileAs{}, {});
  if (!file && file.error().code != Code::kNotFound) co_return std::move(file).error();
  std::string passwd;
  if (file) {
    CAY_CO_TRY(const Head head, co_await read_head(std::move(file->bytes), kMostPasswd));
    passwd = head.bytes;
  }
  co_return home_in_passwd(passwd, box.user);
}

Task<Box> box_of(core::Cay& cay, ExchangePtr exchange) {
  Box box;
  box.who = exchange->principal();
  CAY_CO_TRY(box.row, co_await sandbox_of(cay, exchange));
  box.ref = box.row.id.get();
  box.user = box.row.run.user.value_or("");
  if (box.row.run.workdir) {
    box.workdir = *box.row.run.workdir;
  } else {
    CAY_CO_TRY(box.workdir, co_await home_of(cay, box));
  }
  co_return box;
}

Task<codec::json::object> toolbox_body(ExchangePtr exchange, std::size_t limit) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, limit));
  auto in = codec::parse_object(body, codec::Empty::kIsObject);
  if (!in) co_return vendor_error(kInvalidBody, "invalid request body: " + in.error().message);
  co_return in;
}

Result<void> checked_body(const codec::Fields& fields) {
  const auto good = fields.first_error();
  if (good) return {};
  return vendor_error(kInvalidBody, "invalid request body: " + good.error().message);
}

Result<std::string> needed_query(const ExchangePtr& exchange, std::string_view name) {
  const auto value = exchange->head().query.get(name);
  if (value && !value->empty()) return std::string(*value);
  return vendor_error(kBadRequest, std::string(name) + " is required");
}

std::string query_text(const ExchangePtr& exchange, std::string_view name) {
  return std::string(exchange->head().query.get(name).value_or(""));
}

bool query_flag(const ExchangePtr& exchange, std::string_view name) {
  const std::string text = lowered(query_text(exchange, name));
  return text == "true" || text == "1";
}

Result<std::uint32_t> octal_mode(std::string_view text) {
  std::uint32_t mode = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, mode, kOctal);
  if (read.ec == std::errc() && read.ptr == end && mode <= kMostMode) return mode;
  return vendor_error(kBadRequest, "invalid mode: a mode has octal digits, as 0644");
}

bool is_variable_name(std::string_view name) {
  const auto is_good = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, is_good);
}

void read_envs(codec::Fields& fields, std::map<std::string, std::string>& out) {
  fields.read("envs", out, kMostEnvs);
  for (const auto& [name, value] : out) {
    if (!is_variable_name(name))
      fields.complain("envs", "invalid environment variable name: " + name.substr(0, 60));
  }
}

}  // namespace cay::api::daytona
