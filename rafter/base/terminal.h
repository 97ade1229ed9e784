// What a terminal can show: its width, and whether a line on it can be drawn over.
#pragma once

#include <string>
#include <string_view>

namespace rafter {

// Columns of the terminal behind a file descriptor: as the terminal says, else $COLUMNS, else 80. 0 where it is no terminal.
int terminal_columns(int file);

// Columns for a line that is drawn over and over. 0 where none can be: no terminal, one that cannot move its cursor
// (TERM is dumb or not set), or one narrower than 20 columns.
int status_columns(int file);

// The first `columns` characters of UTF-8 text.
std::string cut_to(std::string_view text, int columns);

}  // namespace rafter
