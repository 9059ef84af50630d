// The server's answers, formatted for a person.
#pragma once
#include <string>

#include "codec/json.h"

namespace cay::cli {

// Throws ApiError where it is no object.
codec::json::object parsed(const std::string& body);

// A string as it is, another value as it is written; empty where there is none, or null.
std::string text_of(const codec::json::object& from, const char* name);

// The members of `items`, as --json prints a list.
std::string items_as_json(const codec::json::object& answer);

}  // namespace cay::cli
