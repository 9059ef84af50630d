// What the sandbox uses now, from its cgroups.
#pragma once
#include "keeper/keeper.h"
#include "keeper/slots.h"
#include "wire/messages.h"

namespace cay::keeper {

wire::StatsMsg read_stats(const Context& context, const Slots& slots, std::uint32_t running);

}  // namespace cay::keeper
