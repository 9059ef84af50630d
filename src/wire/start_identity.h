// The identity of a command's request when it is repeated, maybe through a daemon of another
// release.
#pragma once
#include <string>

#include "wire/messages.h"
#include "wire/tlv.h"

namespace cay::wire {

// The members of StartCommand as release 0.1 wrote them all, frozen. A later member may be added at
// the end only where it differs from its default, or the same request would be another one after an
// upgrade.
struct StartIdentity {
  const StartCommand& of;
  template <class V>
  void fields(V& v) {
    v(1, of.command_id);
    v(2, of.digest);
    v(3, of.argv);
    v(4, of.env);
    v(5, of.cwd);
    v(6, of.user);
    v(7, of.pty);
    v(8, of.rows);
    v(9, of.cols);
    v(10, of.timeout_ms);
    v(11, of.idle_timeout_ms);
    v(12, of.ttl_ms);
    v(13, of.kill_on_disconnect);
    v(14, of.close_stdin);
    v(15, of.end_tree);
    v(16, of.ignore_mismatch);
    v(17, of.spool_limit);
    v(18, of.not_after_ms);
    v(19, of.disk_reserve);
    v(20, of.shell_line);
  }
};

// Returns the identity of a caller's request. `start` has none of Cay's own additions.
inline std::string identity_of(const StartCommand& start) { return encode(StartIdentity{start}); }

}  // namespace cay::wire
