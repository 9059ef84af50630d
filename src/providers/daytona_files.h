// Files of a Daytona sandbox, many in one request, by the toolbox's multipart bodies.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "http/client.h"
#include "providers/backend.h"

namespace cay::providers {

// `toolbox` is a client of one sandbox's toolbox. One result for each file, in their order.
//
// A refusal of several files does not name the file. These files are then sent again, one by one.
Task<std::vector<FileResult>> daytona_upload(
    http::Client& toolbox, std::vector<std::pair<std::string, std::string>> files);
Task<std::vector<FileResult>> daytona_download(http::Client& toolbox,
                                               std::vector<std::string> paths);

}  // namespace cay::providers
