/* The door through which descriptors come from outside: operators, column kinds, graph ops, hooks. A descriptor begins
 * with its head, {uint32_t abi_version, struct_size}, and its name. It only grows at its end, and a zero there means
 * what was so before, so one made for an older or a newer header of the same version can be used. Not a public
 * header. */
#ifndef HR_DESCRIPTOR_H
#define HR_DESCRIPTOR_H

#include <headrace/base.h>
#include <string.h>

/* A kind of descriptor, as this library knows it. */
typedef struct hr__descriptor_kind {
    const char *what;  /* "operator": begins messages */
    hr_status status;  /* of errors, */
    const char *error; /* and their kind: "op.abi" */
    uint32_t version;  /* of its kit */
    size_t size;       /* of the struct here */
    size_t min_size;   /* up to the last field that none can do without */
} hr__descriptor_kind;

typedef struct hr__descriptor_head {
    uint32_t abi_version, struct_size;
    const char *name;
} hr__descriptor_head;

/* The first byte of a longer descriptor that this library does not know and that is set; 0: there is none. */
static inline size_t hr__descriptor_unknown(const hr__descriptor_kind *kind, const void *given, size_t size)
{
    for (size_t i = kind->size; i < size; i++)
        if (((const unsigned char *)given)[i]) return i;
    return 0;
}

/* *fits is `given`, if it can be used as it is; or `own` (of kind->size bytes, which live as long as the descriptor is
 * used), if `given` is shorter than this library's: then a copy of it, zeros in the further fields. Refuses another
 * version, what is too short, and what is longer and not zero there. */
static inline hr_status hr__descriptor_fit(const hr__descriptor_kind *kind, const void *given, void *own,
                                           const void **fits, hr_error *err)
{
    hr__descriptor_head head;
    *fits = given;
    if (!given) return hr_fail(err, kind->status, kind->error, "%s: expected a descriptor, got NULL", kind->what);
    memcpy(&head, given, offsetof(hr__descriptor_head, name));
    if (head.abi_version != kind->version)
        return hr_fail(err, kind->status, kind->error,
                       "%s: expected a descriptor made for version %u of its kit, got version %u; compile it with this "
                       "library's headers",
                       kind->what, kind->version, head.abi_version);
    if (head.struct_size < kind->min_size || head.struct_size < sizeof head)
        return hr_fail(err, kind->status, kind->error,
                       "%s: expected a descriptor of %zu to %zu bytes, got a struct_size of %u; set its head",
                       kind->what, kind->min_size, kind->size, head.struct_size);
    memcpy(&head, given, sizeof head);
    const size_t unknown = hr__descriptor_unknown(kind, given, head.struct_size);
    if (unknown)
        return hr_fail(err, kind->status, kind->error,
                       "%s '%.60s': expected a descriptor of %zu bytes and zeros after them, got one of %u bytes with "
                       "byte %zu set; it needs a newer library",
                       kind->what, head.name ? head.name : "", kind->size, head.struct_size, unknown);
    if (head.struct_size >= kind->size) return HR_OK;
    memset(own, 0, kind->size);
    memcpy(own, given, head.struct_size);
    *fits = own;
    return HR_OK;
}

/* What a function of a descriptor has returned, with the error that it has left in *err, which was without code and
 * kind before: a failure without an error gets one of this kind, and so does what is no failure and not HR_OK, as
 * HR_INTERNAL. `name` begins the message. */
static inline hr_status hr__descriptor_answer(const char *name, const char *kind, hr_status returned, hr_error *err)
{
    if (returned == HR_OK) return HR_OK;
    if (returned > 0 || returned < HR_DATA_LOSS)
        return hr_fail(err, HR_INTERNAL, kind, "%s: expected a status, got %d, which is none here", name,
                       (int)returned);
    if (!err || (err->code < 0 && err->kind)) return returned;
    return hr_fail(err, returned, kind, "%s: failed without an error (%s)", name, hr_status_name(returned));
}

#endif
