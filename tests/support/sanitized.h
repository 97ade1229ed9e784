// Whether this build runs under the address sanitizer, as GCC and as Clang say it: what is timed, or counts memory, tells
// nothing there.
#pragma once

namespace rafter::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace rafter::test
