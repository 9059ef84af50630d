// Principal: who calls. The server finds out; the core decides what they may.
#pragma once
#include <string>

#include "model/ids.h"
#include "model/trace.h"

namespace cay {

struct Principal {
  TenantId tenant;       // every lookup is inside it
  std::string key_name;  // for created_by and the audit record; never the key

  // The key of the data directory (or CAY_API_KEY): who has it administers the host.
  bool is_operator() const { return key_name == "default" && tenant.get() == "default"; }
  TraceContext trace{};  // of the request, if it has one: the parent of what is done for it
};

}  // namespace cay
