// Control: the state that the verbs of the control plane share.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/daytona/config.h"
#include "api/daytona/contexts.h"
#include "api/daytona/creations.h"
#include "api/daytona/plane.h"

namespace cay::api::daytona {

struct Control {
  core::Cay& cay;
  const DaytonaConfig config;
  Creations creations{};
  Contexts contexts{};
  // The names that clients gave to snapshots that this daemon began: a tag counts from the end of
  // the work on.
  std::map<SnapshotId, std::string> snapshot_names{};
};

using ControlVerb = Task<http::Response> (*)(std::shared_ptr<Control>, ExchangePtr);

inline PlaneRoutes::Plain with(std::shared_ptr<Control> control, ControlVerb verb) {
  return [control = std::move(control), verb](core::Cay&, ExchangePtr exchange) {
    return verb(control, std::move(exchange));
  };
}

}  // namespace cay::api::daytona
