#include <charconv>

#include "api/daytona/toolbox/bulk.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kFront = "files[";

// A path inside quotation marks, as Go's library writes it.
std::string quoted_name(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::optional<BulkName> bulk_name(std::string_view name) {
  if (!name.starts_with(kFront)) return std::nullopt;
  name.remove_prefix(kFront.size());
  BulkName out;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), out.index);
  if (read.ec != std::errc()) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(read.ptr - name.data()));
  if (name == "].path") return out;
  out.is_file = true;
  if (name == "].file") return out;
  return std::nullopt;
}

std::string bulk_head(const BulkHead& head) {
  std::string out = "Content-Disposition: form-data; name=\"";
  out.append(head.name).append("\"; filename=\"").append(quoted_name(head.path)).append("\"\r\n");
  out.append("Content-Type: ").append(head.type).append("\r\n");
  if (head.length)
    out.append("Content-Length: ").append(std::to_string(*head.length)).append("\r\n");
  return out + "\r\n";
}

}  // namespace cay::api::daytona
