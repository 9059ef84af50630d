// cay install, cay uninstall: the program as a service, on a machine without the Debian package.
#pragma once

namespace cay::app {

int install_command(int argc, char** argv);
int uninstall_command(int argc, char** argv);

}  // namespace cay::app
