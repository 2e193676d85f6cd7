/* A checkpoint by whatever names it: its prefix, a folder of checkpoints, the folder of a SavedModel. */
#include "base/text.h"
#include "train/checkpoint/folder.h"
#include <string.h>

/* Those of a SavedModel have one name. Gives; NULL: no memory. */
static char *variables_of(const char *folder) { return hr__path_in(folder, "variables/variables"); }

hr_status hr__checkpoint_open(const char *path, hr_bundle **out, hr_error *err)
{
    char *newest;
    hr_error why;
    const hr_status st = hr_bundle_open(path, out, err);
    if (st != HR_NOT_FOUND) return st;
    const hr_status looked = hr_latest_checkpoint(path, &newest, &why);
    if (looked != HR_OK) *err = why;
    HR_TRY(looked);
    const bool saved_model = !newest;
    if (saved_model && !(newest = variables_of(path))) return hr_no_memory(err, "a path");
    const hr_status again = hr_bundle_open(newest, out, &why);
    hr_free(newest);
    if (again == HR_OK || (saved_model && again == HR_NOT_FOUND)) return again == HR_OK ? HR_OK : st;
    *err = why;
    return again;
}
