#include "agent/tools/kit.h"

namespace cay::agent {

void add_web_tools(Tools&, const KitPtr&) {}

}  // namespace cay::agent
