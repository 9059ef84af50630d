// Helpers of every handler of the toolbox for reading a request.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/daytona/lookup.h"
#include "codec/fields.h"
#include "model/file.h"
#include "model/principal.h"
#include "model/sandbox.h"

namespace cay::api::daytona {

// The sandbox of a request, and where its work is done.
struct Box {
  Principal who;
  std::string ref;  // its id: a name may be given to another one meanwhile
  Sandbox row;
  std::string user;     // of commands and files; empty: root
  std::string workdir;  // relative paths count from here

  FileAs as() const { return {.user = user, .workdir = workdir}; }
  // A path as an absolute one. "~" and "~/…" stay as they are.
  std::string absolute(std::string_view path) const;
};

// Fails as sandbox_of().
Task<Box> box_of(core::Cay& cay, ExchangePtr exchange);
// The home directory of the box's user: HOME of its environment, or by /etc/passwd inside.
Task<std::string> home_of(core::Cay& cay, Box box);

// The home of a user in the text of /etc/passwd. `user`: a name or a uid, perhaps with ":group";
// empty: root. Unlisted: "/root" for root, otherwise "/".
std::string home_in_passwd(std::string_view passwd, std::string_view user);

// The absolute path of `path`, below `base`, without "." and "..".
std::string joined_path(std::string_view base, std::string_view path);

// The most of a JSON body that holds no code and no file.
inline constexpr std::size_t kSmallBody = 1 << 20;

// The body as an object. Fails INVALID_REQUEST_BODY.
Task<codec::json::object> toolbox_body(ExchangePtr exchange, std::size_t limit = kSmallBody);
// The first complaint as INVALID_REQUEST_BODY.
Result<void> checked_body(const codec::Fields& fields);

// ?NAME=; absent: BAD_REQUEST that names it.
Result<std::string> needed_query(const ExchangePtr& exchange, std::string_view name);
std::string query_text(const ExchangePtr& exchange, std::string_view name);
bool query_flag(const ExchangePtr& exchange, std::string_view name);

// A file mode in octal digits, as "755" or "0644". Fails BAD_REQUEST.
Result<std::uint32_t> octal_mode(std::string_view text);

// Whether a program inside may have a variable of this name.
bool is_variable_name(std::string_view name);
// Reads `envs`, and complains about bad names.
void read_envs(codec::Fields& fields, std::map<std::string, std::string>& out);

}  // namespace cay::api::daytona
