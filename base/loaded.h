/* Calls of libraries that are loaded at run time. */
#ifndef HR_LOADED_H
#define HR_LOADED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Sets the pointer to a function that `function` points to; false: the library has no such call, and it stays. Functions
 * are found as data, which ISO C does not convert to them. */
static inline bool hr__loaded_call(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (found) memcpy(function, &found, sizeof found);
    return found;
}

#endif
