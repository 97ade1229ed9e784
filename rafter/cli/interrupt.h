// Signals. Ctrl-C: the first one asks the work under way to stop, a second one kills. A mapped file that is cut short: an
// error like others.
#pragma once

namespace rafter {

// Thrown to leave work that has nothing to tell about its end.
struct Interrupted {};

// From here on SIGINT and SIGTERM set a flag; reads that wait are broken off.
void catch_interrupts();
bool interrupted();
// The exit status then, as shells report a process that the signal ended: 130 for Ctrl-C.
int interrupted_status();

// From here on a read of a mapped file past an end that came nearer (SIGBUS) is one line on standard error and exit status
// 1. Only the program asks for this: a library must leave its user's handlers alone.
void report_cut_files();

}  // namespace rafter
