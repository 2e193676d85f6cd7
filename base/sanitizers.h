/* Which sanitizer looks on: gcc says so by macros, clang by features. Not a public header. */
#ifndef HR_SANITIZERS_H
#define HR_SANITIZERS_H

#ifndef __has_feature
#define HR__HAS_FEATURE(feature) 0
#else
#define HR__HAS_FEATURE(feature) __has_feature(feature)
#endif

#if defined(__SANITIZE_ADDRESS__) || HR__HAS_FEATURE(address_sanitizer)
#define HR__UNDER_ASAN 1
#else
#define HR__UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || HR__HAS_FEATURE(thread_sanitizer)
#define HR__UNDER_TSAN 1
#else
#define HR__UNDER_TSAN 0
#endif

#endif
