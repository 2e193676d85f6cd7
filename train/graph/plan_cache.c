/* The plans of a session, by what is fed and fetched. The one that was used longest ago makes place for a new one, once
 * no run has it. */
#include "train/graph/graph_internal.h"

#include <string.h>

/* ---- keys ---- */

typedef struct plan_key {
    int32_t *words;
    size_t size; /* bytes */
    int32_t few[32];
} plan_key;

/* Nodes of other graphs are no plan's. */
static int32_t *put_node(const hr_session *s, int32_t *to, hr_node node)
{
    *to++ = node.graph == s->graph ? node.id : -2;
    *to++ = node.output;
    return to;
}

/* How many are fed, then id and output of each feed and each fetch. */
static hr_status make_key(const hr_session *s, plan_key *key, const hr_feed *feeds, int feed_count,
                          const hr_node *fetches, int fetch_count, hr_error *err)
{
    const size_t words = 1 + 2 * ((size_t)feed_count + (size_t)fetch_count);
    key->size = words * sizeof *key->words;
    key->words = words <= sizeof key->few / sizeof *key->few ? key->few : hr_malloc(key->size);
    if (!key->words) return hr_no_memory(err, "a run");
    int32_t *to = key->words;
    *to++ = feed_count;
    for (int i = 0; i < feed_count; i++) to = put_node(s, to, feeds[i].node);
    for (int i = 0; i < fetch_count; i++) to = put_node(s, to, fetches[i]);
    return HR_OK;
}

static void free_key(plan_key *key)
{
    if (key->words != key->few) hr_free(key->words);
}

/* ---- by last use ---- */

static void unlink_plan(hr_session *s, hr__plan *plan)
{
    *(plan->newer ? &plan->newer->older : &s->newest) = plan->older;
    *(plan->older ? &plan->older->newer : &s->oldest) = plan->newer;
    plan->newer = plan->older = NULL;
}

static void link_newest(hr_session *s, hr__plan *plan)
{
    plan->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = plan;
    s->newest = plan;
}

static void let_go(hr__plan *plan)
{
    if (--plan->users == 0) hr__plan_free(plan);
}

/* ---- the cache ---- */

static hr__plan *find_plan(hr_session *s, const plan_key *key)
{
    const int64_t *number = hr__map_find(&s->plan_keys, (const char *)key->words, key->size);
    if (!number || *number < 0) return NULL;
    hr__plan *plan = s->plans[*number];
    if (s->newest != plan) {
        unlink_plan(s, plan);
        link_newest(s, plan);
    }
    plan->users++;
    return plan;
}

/* Keys of dropped plans stay in the map until they are as many as the plans. */
static hr_status renew_keys(hr_session *s, hr_error *err)
{
    if (s->plan_keys.count < 2 * HR__MAX_PLANS) return HR_OK;
    hr__map fresh = {0};
    for (int i = 0; i < s->plan_count; i++) {
        const hr_view key = s->plans[i]->key;
        const hr_status st = hr__map_add(&fresh, key.data, (size_t)key.size, i, err);
        if (st == HR_OK) continue;
        hr__map_free(&fresh);
        return st;
    }
    hr__map_free(&s->plan_keys);
    s->plan_keys = fresh;
    return HR_OK;
}

/* Drops the plan that was used longest ago; the last one gets its number. */
static hr_status drop_oldest(hr_session *s, hr_error *err)
{
    hr__plan *oldest = s->oldest;
    HR_TRY(hr__map_set(&s->plan_keys, oldest->key.data, (size_t)oldest->key.size, -1, err));
    unlink_plan(s, oldest);
    hr__plan *last = s->plans[--s->plan_count];
    if (last != oldest) {
        s->plans[oldest->number] = last;
        last->number = oldest->number;
        *hr__map_find(&s->plan_keys, last->key.data, (size_t)last->key.size) = last->number;
    }
    let_go(oldest);
    return HR_OK;
}

static hr_status keep(hr_session *s, hr__plan *plan, const plan_key *key, hr_error *err)
{
    plan->key = (hr_view){hr__arena_copy(&plan->arena, key->words, key->size), (int64_t)key->size};
    if (!plan->key.data) return hr_no_memory(err, "a plan");
    HR_TRY(renew_keys(s, err));
    if (s->plan_count == HR__MAX_PLANS) HR_TRY(drop_oldest(s, err));
    HR_TRY(hr__map_set(&s->plan_keys, plan->key.data, key->size, s->plan_count, err));
    plan->users = 2; /* the cache and the run */
    plan->number = s->plan_count++;
    s->plans[plan->number] = plan;
    link_newest(s, plan);
    return HR_OK;
}

/* Another run may have made the same plan meanwhile. `once`: the plan is the run's alone. */
static hr_status make_plan(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                           bool once, const plan_key *key, hr__plan **out, hr_error *err)
{
    uv_mutex_lock(&s->lock);
    *out = find_plan(s, key);
    uv_mutex_unlock(&s->lock);
    if (*out) return HR_OK;
    hr__plan *plan;
    hr_node *fed = hr_malloc(sizeof *fed * ((size_t)feed_count + 1));
    if (!fed) return hr_no_memory(err, "a plan");
    for (int i = 0; i < feed_count; i++) fed[i] = feeds[i].node;
    hr_status st = hr__plan_new(&s->instance, NULL, fed, feed_count, fetches, fetch_count, &plan, err);
    hr_free(fed);
    HR_TRY(st);
    uv_mutex_lock(&s->lock);
    plan->users = 1;
    if (!once) st = keep(s, plan, key, err);
    uv_mutex_unlock(&s->lock);
    if (st != HR_OK) hr__plan_free(plan);
    if (st == HR_OK) *out = plan;
    return st;
}

hr_status hr__plan_acquire(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                           bool once, hr__plan **out, hr_error *err)
{
    plan_key key;
    HR_TRY(make_key(s, &key, feeds, feed_count, fetches, fetch_count, err));
    uv_mutex_lock(&s->lock);
    *out = find_plan(s, &key);
    uv_mutex_unlock(&s->lock);
    hr_status st = HR_OK;
    if (!*out) {
        uv_mutex_lock(&s->planning);
        st = make_plan(s, feeds, feed_count, fetches, fetch_count, once, &key, out, err);
        uv_mutex_unlock(&s->planning);
    }
    free_key(&key);
    return st;
}

void hr__plan_release(hr_session *s, hr__plan *plan)
{
    uv_mutex_lock(&s->lock);
    let_go(plan);
    uv_mutex_unlock(&s->lock);
}

void hr__plans_free(hr_session *s)
{
    for (int i = 0; i < s->plan_count; i++) let_go(s->plans[i]);
    hr__map_free(&s->plan_keys);
}
