// Principal: who calls. The server finds out; the core decides what they may.
#pragma once
#include <string>

#include "model/ids.h"
#include "model/trace.h"

namespace cay {

struct Principal {
  TenantId tenant;       // every lookup is inside it
  std::string key_name;  // for created_by and the audit record; never the key
  TraceContext trace{};  // of the request, if it has one: the parent of what is done for it
};

}  // namespace cay
