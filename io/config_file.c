/* Reads a whole file and parses it as YAML. */
#include "io/config_file.h"
#include "io/io.h"

/* Lends all bytes, or some more than a config may have. */
static hr_status config_bytes(hr_input *in, const char **bytes, size_t *size, hr_error *err)
{
    for (size_t wanted = 1 << 14;; wanted *= 2) {
        HR_TRY(hr_input_peek(in, wanted, bytes, size, err));
        if (*size < wanted || *size > HR__CONFIG_BYTES) return HR_OK;
    }
}

hr_status hr__config_open(const char *path, hr__config **out, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    hr_input *in;
    const char *bytes;
    size_t size;
    *out = NULL;
    HR_TRY(hr_input_open_with(path, &opts, &in, err));
    hr_status st = config_bytes(in, &bytes, &size, err);
    if (st == HR_OK) st = hr__config_parse(path, bytes, size, out, err);
    hr_input_free(in);
    return st;
}
