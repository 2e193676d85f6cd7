/* A checkpoint by whatever names it: its prefix, a folder of checkpoints, the folder of a SavedModel. */
#include "base/text.h"
#include "train/checkpoint/folder.h"
#include <string.h>

/* Those of a SavedModel have one name. Gives; NULL: no memory. */
static char *variables_of(const char *folder) { return hr__path_in(folder, "variables/variables"); }

static hr_status open_failed(hr_status st, const hr_error *why, hr_error *err)
{
    if (st != HR_OK && err) *err = *why;
    return st;
}

/* What the first try lacks is no error where a later one finds it. */
hr_status hr__checkpoint_open(const char *path, hr_bundle **out, hr_error *err)
{
    char *newest;
    hr_error first = {0}, why = {0};
    const hr_status st = hr_bundle_open(path, out, &first);
    if (st != HR_NOT_FOUND) return open_failed(st, &first, err);
    const hr_status looked = hr_latest_checkpoint(path, &newest, &why);
    if (looked != HR_OK) return open_failed(looked, &why, err);
    const bool saved_model = !newest;
    if (saved_model && !(newest = variables_of(path))) return hr_no_memory(err, "a path");
    const hr_status again = hr_bundle_open(newest, out, &why);
    hr_free(newest);
    return saved_model && again == HR_NOT_FOUND ? open_failed(st, &first, err) : open_failed(again, &why, err);
}
