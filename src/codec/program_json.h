// The program record -> JSON, as the native API speaks it.
#pragma once
#include "codec/json.h"
#include "model/program.h"

namespace cay::codec {

json::object to_json(const ProgramEvent& event);
json::object to_json(const ProgramPage& page);

}  // namespace cay::codec
