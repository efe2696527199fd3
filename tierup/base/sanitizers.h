// Which sanitizers this file is compiled under: TIERUP_ADDRESS_SANITIZER, TIERUP_THREAD_SANITIZER.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TIERUP_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define TIERUP_THREAD_SANITIZER 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TIERUP_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define TIERUP_THREAD_SANITIZER 1
#endif
#endif
