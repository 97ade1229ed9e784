// Ctrl-C: the first one asks the work under way to stop, a second one kills.
#pragma once

namespace rafter {

// Thrown to leave work that has nothing to tell about its end.
struct Interrupted {};

// From here on SIGINT and SIGTERM set a flag; reads that wait are broken off.
void catch_interrupts();
bool interrupted();
// The exit status then, as shells report a process that the signal ended: 130 for Ctrl-C.
int interrupted_status();

}  // namespace rafter
