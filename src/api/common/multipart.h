// The reader of multipart/form-data bodies, by the facades' own names.
#pragma once
#include "http/multipart.h"

namespace cay::api {

using http::boundary_of;
using http::MultipartLimits;
using http::MultipartReader;
using http::parse_part_head;
using http::Part;

}  // namespace cay::api
