// The files of packaging/ that `cay install` puts in place, carried inside the program.
#pragma once
#include <sys/types.h>

#include <span>

namespace cay::app {

struct PackagedFile {
  const char* path;  // where it goes
  mode_t mode;
  bool settings;        // the operator's, once it is there
  const char* content;  // "/usr/bin/cay" in it is where the package puts the program
};

std::span<const PackagedFile> packaged_files();

}  // namespace cay::app
