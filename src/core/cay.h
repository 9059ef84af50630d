// Cay: the core as facades see it. One use case of a facade is one call of one of these families,
// each declared in core/verbs/. Everything runs on the daemon's one loop. make_core.h builds it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/metrics.h"
#include "model/trace.h"

namespace cay::core {

class AnswerRoom;
class Builds;
class Claims;
class CodeRuns;
class Commands;
class Contexts;
class Drain;
class Events;
class FileChanges;
class Files;
class FileWatches;
class ImageRegistries;
class Inspection;
class Links;
class Policies;
class Sandboxes;
class Secrets;
class Snapshots;
class Tunnels;
class Usage;
class Volumes;
struct Feature;

// SnapshotFamilies: the families about what sandboxes start from, where it comes from, and what
// outlives them.
class SnapshotFamilies {
 public:
  virtual ~SnapshotFamilies() = default;
  virtual Snapshots& snapshots() = 0;
  virtual Builds& builds() = 0;
  virtual ImageRegistries& image_registries() = 0;
  virtual Volumes& volumes() = 0;
};

// ProgramFamilies: the families about what runs in a sandbox.
class ProgramFamilies {
 public:
  virtual ~ProgramFamilies() = default;
  virtual Commands& commands() = 0;
  virtual CodeRuns& code() = 0;
  virtual Contexts& contexts() = 0;
};

// FileFamilies: the families about the files of a sandbox.
class FileFamilies {
 public:
  virtual ~FileFamilies() = default;
  virtual Files& files() = 0;
  virtual FileChanges& file_changes() = 0;
  virtual FileWatches& file_watches() = 0;
};

class Cay : public SnapshotFamilies, public ProgramFamilies, public virtual FileFamilies {
 public:
  virtual Sandboxes& sandboxes() = 0;
  virtual Claims& claims() = 0;
  virtual Inspection& inspection() = 0;
  virtual Policies& policies() = 0;
  virtual Tunnels& tunnels() = 0;
  virtual Links& links() = 0;
  virtual Secrets& secrets() = 0;
  virtual Drain& drain() = 0;
  virtual Events& events() = 0;
  virtual Usage& usage() = 0;
  virtual Metrics& metrics() = 0;
  virtual AnswerRoom& answers() = 0;
  // Sets a function that is called with each finished span: creations and commands of sampled
  // traces. Without it there are no spans, and commands get the caller's own trace context.
  virtual void on_span(std::function<void(Span)> called) = 0;

  // Whether requests can be served now, and if not, what is in the way.
  struct Check {
    std::string name;
    bool ok = false;
    std::string detail;  // what is wrong, and what to do
  };
  virtual std::vector<Check> readiness() = 0;
  // Returns what each runtime found on its host, for doctor.
  virtual Task<std::vector<Feature>> features() = 0;

  // Prepares the default snapshot, adopts what lives, marks what died, removes what nobody owns.
  virtual Task<void> open(std::function<void(std::string)> progress) = 0;
  // First of a polite end, while connections of clients are still open: see Runtime::part().
  virtual void part() = 0;
  // Ends politely: timers stop and connections to keepers close. Sandboxes live on unless
  // `stop_sandboxes`.
  virtual Task<void> close(bool stop_sandboxes) = 0;
};

}  // namespace cay::core
