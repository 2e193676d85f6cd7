#include "data/kept.h"
#include <inttypes.h>

static const uint64_t LOOK_AGAIN_NS = 10000000; /* at the cancel flag, while pieces are on their way */

bool hr__kept_open(hr__kept *kept)
{
    if (uv_mutex_init(&kept->lock) != 0) return false;
    if (uv_cond_init(&kept->arrived) == 0) return true;
    uv_mutex_destroy(&kept->lock);
    return false;
}

static void throw_away(hr__kept *kept)
{
    for (int64_t i = 0; i < kept->pieces; i++) hr__packed_clear(&kept->piece[i]);
    kept->pieces = kept->waiting = 0;
    kept->size = 0;
    kept->ended = kept->failed = false;
}

void hr__kept_close(hr__kept *kept)
{
    throw_away(kept);
    hr_free(kept->piece);
    uv_cond_destroy(&kept->arrived);
    uv_mutex_destroy(&kept->lock);
}

hr__kept_use hr__kept_enter(hr__kept *kept, const hr_plan *p, bool can_fill)
{
    hr__kept_use use = HR__KEPT_NEITHER;
    uv_mutex_lock(&kept->lock);
    /* Whoever planned the last pieces works on them at this moment: not for long. */
    while (kept->ended && kept->waiting > 0 && !hr_plan_cancelled(p))
        uv_cond_timedwait(&kept->arrived, &kept->lock, LOOK_AGAIN_NS);
    if (kept->ended && kept->waiting == 0 && !kept->failed)
        use = HR__KEPT_TAKE;
    else if (!kept->filling && can_fill)
        use = HR__KEPT_FILL;
    if (use == HR__KEPT_FILL) {
        throw_away(kept);
        kept->filling = true;
    }
    uv_mutex_unlock(&kept->lock);
    return use;
}

void hr__kept_leave(hr__kept *kept)
{
    uv_mutex_lock(&kept->lock);
    kept->filling = false;
    if (!kept->ended || kept->waiting > 0) throw_away(kept);
    uv_mutex_unlock(&kept->lock);
}

void hr__kept_end(hr__kept *kept)
{
    uv_mutex_lock(&kept->lock);
    kept->ended = true;
    uv_mutex_unlock(&kept->lock);
}

static bool make_room(hr__kept *kept)
{
    if (kept->pieces < kept->room) return true;
    const int64_t room = kept->room ? 2 * kept->room : 64;
    hr__packed *grown = hr_realloc(kept->piece, (size_t)room * sizeof *grown);
    if (!grown) return false;
    kept->piece = grown;
    kept->room = room;
    return true;
}

int64_t hr__kept_begin(hr__kept *kept)
{
    int64_t number = -1;
    uv_mutex_lock(&kept->lock);
    if (make_room(kept)) {
        number = kept->pieces++;
        kept->piece[number] = (hr__packed){0};
        kept->waiting++;
    }
    uv_mutex_unlock(&kept->lock);
    return number;
}

static hr_status fits(const hr__kept *kept, size_t size, hr_error *err)
{
    if (kept->limit == 0 || kept->size + size <= kept->limit) return HR_OK;
    return hr_fail(
        err, HR_RESOURCE_EXHAUSTED, "cache.limit",
        "cache: the elements need more than the %zu bytes that .max_bytes allows; allow more, or keep them in "
        "a file (.file)",
        kept->limit);
}

hr_status hr__kept_put(hr__kept *kept, int64_t number, const hr_columns *rows, hr_error *err)
{
    hr__packed packed = {0};
    hr_status st = hr__pack(rows, true, &packed, err);
    uv_mutex_lock(&kept->lock);
    if (st == HR_OK) st = fits(kept, packed.size, err);
    if (st == HR_OK) {
        kept->piece[number] = packed;
        kept->size += packed.size;
    }
    kept->failed |= st != HR_OK;
    kept->waiting--;
    uv_cond_broadcast(&kept->arrived);
    uv_mutex_unlock(&kept->lock);
    if (st != HR_OK) hr__packed_clear(&packed);
    return st;
}
