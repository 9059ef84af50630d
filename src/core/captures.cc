#include "core/captures.h"

#include "core/errors.h"
#include "core/ports/layers.h"

namespace cay::core {

Task<Captures::Sealed> Captures::seal(std::shared_ptr<Entry> entry) {
  CAY_CO_TRY(Layers* const role, layers_.layers_of(*entry));
  const auto turn = co_await entry->turn.lock();
  if (entry->erased) co_return sandbox_not_found(entry->row.name);
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  if (!entry->runs() && !entry->rests())
    co_return not_ready(entry->row.name, "it has no disk yet: wait for its start");
  CAY_CO_TRY(const bool held, co_await pauses_.hold_still(entry));
  Sealed out;
  const LayerId id(new_uuid());
  out.hold = layers_.hold(id);
  auto sealing = role->seal(entry->row.id, id);
  auto sealed = co_await std::move(sealing);
  if (held) {
    const auto gone = co_await pauses_.let_go(entry);
    if (!gone) jobs_.warn(gone.error().message);
  }
  if (!sealed) co_return std::move(sealed).error().while_doing("seal the disk");
  out.layer.id = id;
  out.layer.below = layer_of(entry->row);
  out.layer.bytes = sealed->bytes;
  out.layer.created_at = registry_->clock().wall();
  CAY_CO_CHECK(layers_.put(out.layer));
  co_return std::move(out);
}

}  // namespace cay::core
