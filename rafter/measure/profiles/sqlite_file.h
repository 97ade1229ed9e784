// A SQLite file that a stranger gave us: opened read-only and immutable, only its real tables looked at, errors as ours.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

class SqliteFile {
 public:
  explicit SqliteFile(const std::string& path);

  const std::string& path() const { return path_; }
  // Columns of a table, in order; none where there is no such table. A view is no table: it could compute without end.
  std::vector<std::string> columns(const std::string& table) const;
  sqlite3* handle() const { return database_.get(); }
  [[noreturn]] void refuse() const;  // with SQLite's own reason

 private:
  struct Closer {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  std::string path_;
  std::unique_ptr<sqlite3, Closer> database_;
};

// The rows of a query, one at a time.
class SqliteRows {
 public:
  SqliteRows(const SqliteFile& file, const std::string& sql);

  bool next();
  // Nothing for NULL, and for a column below 0: one that this file lacks.
  std::optional<int64_t> integer(int column) const;
  std::string text(int column) const;

 private:
  bool is_null(int column) const;

  struct Finaliser {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  const SqliteFile& file_;
  std::unique_ptr<sqlite3_stmt, Finaliser> statement_;
};

}  // namespace rafter
