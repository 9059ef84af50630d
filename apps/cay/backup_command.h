// cay backup, cay restore: everything of a data directory in one file, and back
// (docs/operator/backup.md).
#pragma once

namespace cay::app {

// argv[0] is "backup" or "restore". Return the exit code.
int backup_command(int argc, char** argv);
int restore_command(int argc, char** argv);

}  // namespace cay::app
