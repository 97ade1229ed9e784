// Text of strangers made safe for a page: inside markup, and inside a block of JSON.
#pragma once

#include <string>
#include <string_view>

#include "rafter/base/json_value.h"

namespace rafter {

// For text between tags and between double quotes: markup as entities, and what has no looks (control characters, bytes that
// are no UTF-8, marks that turn the direction of writing) as an escape that can be seen.
std::string html_text(std::string_view text);

// A document for <script type="application/json">: no character in it can end the block. Bytes that are no UTF-8 become U+FFFD.
std::string json_block(const Json& document);

// How a Content-Security-Policy names a text by its hash: 'sha256-...', from the hash in hexadecimal.
std::string hash_source(std::string_view sha256_hex);

}  // namespace rafter
