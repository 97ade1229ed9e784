// The SQLite database that `nsys export --type sqlite` writes: a timeline of kernels, copies and fills.
//
// Its tables appear only when they have rows, and their columns come and go with versions: the schema is read first, and
// only what is there is asked for.
#pragma once

#include <string>

#include "rafter/measure/profiles/profile.h"

namespace rafter {

// Opened for reading only, without locks or a journal. An input Error where it is damaged or has no table of kernels.
Profile read_nsys_sqlite(const std::string& path);

}  // namespace rafter
