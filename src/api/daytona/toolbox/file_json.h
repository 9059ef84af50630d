// Files as the vendor's clients read them: texts of Go's library.
#pragma once
#include <cstdint>
#include <string>

#include "codec/json.h"
#include "model/file.h"

namespace cay::api::daytona {

// As Go writes a file mode: "-rw-r--r--", "drwxr-xr-x", "Lrwxrwxrwx". The bits for setuid, setgid
// and sticky are letters in front: "dtrwxrwxrwx".
std::string go_mode(FileKind kind, std::uint32_t mode);
// As Go writes a time in UTC: "2026-11-28 03:51:23.5 +0000 UTC".
std::string go_time(std::int64_t since_1970_ns);

// `info` has the names of owner and group if they are known. Otherwise the numbers stand for them.
// `with_path`: the path too, as for a list of several levels.
codec::json::object file_json(const FileInfo& info, bool with_path);

// By the suffix of the name: "text/plain; charset=utf-8". Unknown: application/octet-stream.
std::string media_type_of(const std::string& path);

std::string base_name(const std::string& path);

}  // namespace cay::api::daytona
