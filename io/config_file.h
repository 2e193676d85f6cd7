/* Config files, read as all files are: a pipe is waited for where a signal of the command, too, is heard. Not a public
 * header. */
#ifndef HR_CONFIG_FILE_H
#define HR_CONFIG_FILE_H

#include "base/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hr__config_parse of a whole file, which may be a pipe. */
HR_API hr_status hr__config_open(const char *path, hr__config **out, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
