/* What a user hands over beside a function. A dataset takes it, even one that fails: until its spec is copied it is the
 * constructor's, which frees it where no dataset came to be. */
#ifndef HR_USER_H
#define HR_USER_H

#include <headrace/data.h>

/* In a spec. Where it is the first field, hr__user_copy and hr__user_free are all that `spec_copy` and `spec_free`
 * do. */
typedef struct hr__user {
    void *data;
    void (*free)(void *data); /* NULL: it needs none */
    bool *taken;              /* the constructor's: a dataset has `data` now */
} hr__user;

static inline hr_status hr__user_copy(void *user, hr_error *err)
{
    (void)err;
    hr__user *u = user;
    if (u->taken) *u->taken = true;
    u->taken = NULL;
    return HR_OK;
}

static inline void hr__user_free(void *user)
{
    const hr__user *u = user;
    if (u->free) u->free(u->data);
}

/* hr_dataset_new with a spec that has `user` in it: frees that if the spec was not copied. */
static inline hr_dataset *hr__user_dataset(const hr_op *op, const void *spec, hr__user *user, hr_dataset *const *in,
                                           int inputs)
{
    bool taken = false;
    user->taken = &taken;
    hr_dataset *ds = hr_dataset_new(op, spec, in, inputs);
    if (!taken) hr__user_free(user);
    return ds;
}

#endif
