// Names of threads, as top -H, gdb and `firebrick bench overhead` show them: docs/contracts/threads.md.
#pragma once

#include <pthread.h>

namespace firebrick {

// Of the calling thread; at most 15 characters.
inline void NameThread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace firebrick
