#include "rafter/measure/profiles/sqlite_file.h"

#include <cctype>
#include <filesystem>

#include "rafter/base/error.h"

namespace rafter {

namespace {

// "file:" with everything but plain path characters escaped, so that no part of the path is an option.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    uri += std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '_' || c == '-' ? std::string(1, c)
                                                                                   : fmt::format("%{:02x}", byte);
  }
  return uri + "?immutable=1";
}

}  // namespace

SqliteFile::SqliteFile(const std::string& path) : path_(path) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(immutable_uri(path).c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  database_.reset(opened);
  if (opened == nullptr || status != SQLITE_OK) refuse();
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 64 << 20);  // of one value
}

void SqliteFile::refuse() const {
  throw input_error({in_quotes(path_), fmt::format("not readable as SQLite ({})", sqlite3_errmsg(database_.get())),
                     "a whole database", "export it again with 'nsys export --type sqlite'"});
}

std::vector<std::string> SqliteFile::columns(const std::string& table) const {
  std::vector<std::string> names;
  SqliteRows tables(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '" + table + "'");
  if (!tables.next()) return names;
  SqliteRows rows(*this, "PRAGMA table_info('" + table + "')");
  while (rows.next()) names.push_back(rows.text(1));
  return names;
}

SqliteRows::SqliteRows(const SqliteFile& file, const std::string& sql) : file_(file) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(file.handle(), sql.c_str(), -1, &statement, nullptr);
  statement_.reset(statement);
  if (status != SQLITE_OK) file.refuse();
}

bool SqliteRows::next() {
  const int status = sqlite3_step(statement_.get());
  if (status != SQLITE_ROW && status != SQLITE_DONE) file_.refuse();
  return status == SQLITE_ROW;
}

bool SqliteRows::is_null(int column) const {
  return column < 0 || sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::optional<int64_t> SqliteRows::integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional<int64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::string SqliteRows::text(int column) const {
  if (is_null(column)) return {};
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes == nullptr ? std::string()
                          : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

}  // namespace rafter
