// Confinement: the rights that a process gives up before it reads an image. It keeps the system
// calls for the way out (os/outward_confinement.h) and the directory DATA/images. It may read the
// C library's resolver files and the certificates.
#pragma once
#include "base/result.h"

namespace cay::image {

// For a process with one thread and no_new_privs. `directory`: DATA/images. `authorities`: a file
// of certificates that it reads besides the system's; -1: none. Returns Landlock's version, or 0.
Result<int> confine(int directory, int authorities);

}  // namespace cay::image
