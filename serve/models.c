/* The models that are served, and the thread that looks after them: it looks at their folders, and brings the versions
 * that are there to those that are wanted, one step at a time. A version is loaded by a thread of its own, so that no
 * model waits for another one, and no request for any of them. A new version takes requests before the old one loses
 * them. One lock guards everything; nobody does anything long under it. */
#include "serve/version.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    STEP = 100 * 1000 * 1000,  /* nanoseconds between two steps of a model */
    REST = 1000 * 1000 * 1000, /* between two looks at who is idle */
    STARTING_LOADS = 8,
    KEPT_ENDED = 64
};

struct hr__models {
    uv_mutex_t lock;
    uv_cond_t changed; /* a state, what is wanted, or `stop` */
    uv_thread_t thread;
    bool stop;
    _Atomic bool started; /* the first models are there */
    const hr_server_opts *opts;
    const hr__version_calls *calls;
    hr__model *first;
    int loads, works; /* threads that load; that load or unload */
    uint64_t next_look;
    double look_every; /* seconds; 0: once */
};

static bool is_saved_model(const hr__model *m) { return strcmp(m->config.platform, "tensorflow") == 0; }

/* ---- what requests do ---- */

static hr__model *model_named(const hr__models *models, hr_view name)
{
    for (hr__model *m = models->first; m; m = m->next)
        if (strlen(m->name) == (size_t)name.size && memcmp(m->name, name.data, (size_t)name.size) == 0) return m;
    return NULL;
}

static const hr__label *label_named(const hr__model *m, hr_view name)
{
    for (int i = 0; m && i < m->label_count; i++)
        if (strlen(m->labels[i].name) == (size_t)name.size &&
            memcmp(m->labels[i].name, name.data, (size_t)name.size) == 0)
            return &m->labels[i];
    return NULL;
}

static hr_status find_version(hr__models *models, const hr__model_spec *spec, hr__version **out, hr__fault *fault)
{
    const int size = (int)(spec->name.size > 400 ? 400 : spec->name.size);
    hr__model *m = model_named(models, spec->name);
    int64_t number = spec->version;
    bool any = !spec->has_version;
    if (spec->has_label) {
        const hr__label *label = label_named(m, spec->label);
        if (!label)
            return hr__fault_set(fault, HR_INVALID_ARGUMENT, "Unrecognized servable version label: %.*s",
                                 (int)(spec->label.size > 400 ? 400 : spec->label.size), spec->label.data);
        number = label->version;
        any = false;
    }
    for (hr__version *v = m ? m->versions : NULL; v; v = v->next)
        if (v->state == HR__AVAILABLE && (any || v->number == number)) {
            *out = v;
            return HR_OK;
        }
    if (any)
        return hr__fault_set(fault, HR_NOT_FOUND, "Servable not found for request: Latest(%.*s)", size,
                             spec->name.data);
    return hr__fault_set(fault, HR_NOT_FOUND, "Servable not found for request: Specific(%.*s, %lld)", size,
                         spec->name.data, (long long)number);
}

hr_status hr__models_hold(hr__models *models, const hr__model_spec *spec, hr__version **version, hr__fault *fault)
{
    *version = NULL;
    if (spec->name.size == 0) return hr__fault_set(fault, HR_INVALID_ARGUMENT, "ModelSpec has no name specified.");
    uv_mutex_lock(&models->lock);
    const hr_status st = find_version(models, spec, version, fault);
    if (st == HR_OK) (*version)->holders++, (*version)->asked = true;
    uv_mutex_unlock(&models->lock);
    return st;
}

void hr__version_release(hr__version *version)
{
    hr__models *models = version->model->models;
    uv_mutex_lock(&models->lock);
    if (--version->holders == 0 && version->state == HR__UNLOADING) uv_cond_broadcast(&models->changed);
    uv_mutex_unlock(&models->lock);
}

void hr__models_each(hr__models *models, hr__model_fn *fn, void *user)
{
    uv_mutex_lock(&models->lock);
    for (const hr__model *m = models->first; m; m = m->next) fn(m, user);
    uv_mutex_unlock(&models->lock);
}

static bool has_available(const hr__model *m)
{
    for (const hr__version *v = m->versions; v; v = v->next)
        if (v->state == HR__AVAILABLE) return true;
    return false;
}

bool hr__models_ready(hr__models *models)
{
    bool ready = true;
    uv_mutex_lock(&models->lock);
    for (const hr__model *m = models->first; m; m = m->next) ready &= !m->wanted || has_available(m);
    uv_mutex_unlock(&models->lock);
    return ready;
}

static hr_status copy_status(const hr__model *m, const hr__model_spec *spec, hr__version_status **out, int *count,
                             hr__fault *fault)
{
    int versions = 0;
    for (const hr__version *v = m ? m->versions : NULL; v; v = v->next) versions++;
    hr__version_status *all = hr_calloc((size_t)versions + 1, sizeof *all);
    if (!all) return hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "no memory for the answer");
    *count = 0;
    for (const hr__version *v = m ? m->versions : NULL; v; v = v->next) {
        if (spec->has_version && v->number != spec->version) continue;
        hr__version_status *s = &all[(*count)++];
        *s = (hr__version_status){.version = v->number, .state = v->state, .code = v->status};
        memcpy(s->error, v->error, sizeof s->error);
    }
    *out = all;
    if (*count) return HR_OK;
    hr_free(all);
    *out = NULL;
    const int size = (int)(spec->name.size > 400 ? 400 : spec->name.size);
    if (spec->has_version)
        return hr__fault_set(fault, HR_NOT_FOUND, "Could not find version %lld of model %.*s", (long long)spec->version,
                             size, spec->name.data);
    return hr__fault_set(fault, HR_NOT_FOUND, "Could not find any versions of model %.*s", size, spec->name.data);
}

hr_status hr__models_status(hr__models *models, const hr__model_spec *spec, hr__version_status **out, int *count,
                            hr__fault *fault)
{
    uv_mutex_lock(&models->lock);
    const hr_status st = copy_status(model_named(models, spec->name), spec, out, count, fault);
    uv_mutex_unlock(&models->lock);
    return st;
}

/* ---- what is there, and what is wanted ---- */

static bool policy_wants(const hr__model *m, int64_t number, int place)
{
    if (!m->wanted) return false;
    if (m->config.policy == HR__ALL) return true;
    if (m->config.policy == HR__LATEST) return place < (m->config.latest > 0 ? m->config.latest : 1);
    for (int i = 0; i < m->config.specific_count; i++)
        if (m->config.specific[i] == number) return true;
    return false;
}

/* Whether the files are as they were when the folder was looked at before, or this is the first look. */
static bool is_settled(const hr__model *m, const hr__found *found)
{
    for (int i = 0; i < m->found_count; i++)
        if (m->found[i].number == found->number) return m->found[i].print == found->print;
    return !m->looked;
}

static hr__version *version_numbered(hr__model *m, int64_t number, hr__version ***place)
{
    *place = &m->versions;
    while (**place && (**place)->number > number) *place = &(**place)->next;
    return **place && (**place)->number == number ? **place : NULL;
}

/* A version that is to be loaded, or again. */
static void want_version(hr__model *m, const hr__found *found)
{
    hr__version **place;
    hr__version *v = version_numbered(m, found->number, &place);
    if (v && v->stale) return; /* it is still to be unloaded */
    if (!v) {
        v = hr_calloc(1, sizeof *v);
        if (!v) return; /* at the next look */
        v->next = *place;
        *place = v;
        v->model = m;
        v->number = found->number;
        v->state = HR__START;
    } else if (v->state == HR__ENDED && (v->status == HR_OK || v->print != found->print)) {
        v->state = HR__START;
        v->status = HR_OK;
        v->error[0] = 0;
        v->tries = 0;
        v->again = 0;
    }
    v->wanted = true;
    if (v->state != HR__START) return;
    hr__text path = {0};
    hr__text_printf(&path, "%s/%s", m->config.base_path, found->name);
    hr_free(v->path);
    v->path = hr__text_take(&path);
    v->print = found->print;
    v->kind = hr__servable_kind(m->config.platform);
}

/* Takes `found`. Under the lock. */
static void compare_folder(hr__model *m, hr__found *found, int count)
{
    for (hr__version *v = m->versions; v; v = v->next) v->wanted = false;
    for (int i = 0, place = 0; i < count; i++) {
        if (!policy_wants(m, found[i].number, place)) continue;
        hr__version **at;
        hr__version *there = version_numbered(m, found[i].number, &at);
        if (there && there->state == HR__AVAILABLE && !there->stale) {
            there->wanted = true;
            place++;
        } else if (is_settled(m, &found[i])) {
            want_version(m, &found[i]);
            place++;
        }
    }
    hr_free(m->found);
    m->found = found;
    m->found_count = count;
    m->looked = true;
}

/* Nothing will be loaded: the folder has no version that the policy wants. */
static void tell_of_none(hr__model *m)
{
    for (int i = 0; i < m->found_count; i++)
        if (policy_wants(m, m->found[i].number, 0)) return;
    snprintf(m->trouble, sizeof m->trouble, "No versions of servable %s%s found under base path %s", m->name,
             m->found_count > 0 ? " that its policy wants" : "", m->config.base_path);
}

static void model_trouble(hr__model *m, const hr_error *err)
{
    if (strncmp(m->trouble, err->text, sizeof m->trouble - 1) == 0) return;
    snprintf(m->trouble, sizeof m->trouble, "%s", err->text);
    hr_log_message(HR_WARNING, "model %s: %s", m->name, err->text);
}

/* Looks at the folder of each model; the lock is open meanwhile. Models are never freed before the end. */
static void look_at_folders(hr__models *models)
{
    for (hr__model *m = models->first; m; m = m->next) {
        hr__found *found = NULL;
        int count = 0;
        hr_error err = {0};
        hr_status st = HR_OK;
        if (m->wanted) {
            char *base = hr_strdup(m->config.base_path);
            const bool saved_model = is_saved_model(m);
            uv_mutex_unlock(&models->lock);
            st = base ? hr__folder_scan(base, saved_model, &found, &count, &err) : hr_no_memory(&err, "a path");
            hr_free(base);
            uv_mutex_lock(&models->lock);
        }
        if (st != HR_OK) {
            model_trouble(m, &err);
            m->looked = true;
            continue;
        }
        m->trouble[0] = 0;
        compare_folder(m, found, count);
        if (m->wanted) tell_of_none(m);
    }
}

/* ---- loads and unloads, in threads of their own ---- */

static void end_load(hr__models *models, hr__version *v, hr_status st, const hr_error *err)
{
    const int most = models->opts->max_num_load_retries ? *models->opts->max_num_load_retries : 5;
    const double wait = models->opts->load_retry_interval > 0 ? models->opts->load_retry_interval : 60;
    v->tries++;
    if (st == HR_OK) {
        v->state = HR__AVAILABLE;
        v->status = HR_OK;
        v->error[0] = 0;
        hr_log_message(HR_INFO, "model %s: version %lld is available after %.3f s", v->model->name,
                       (long long)v->number, v->load_seconds);
        return;
    }
    v->status = st;
    snprintf(v->error, sizeof v->error, "%s", err->text);
    const bool again = models->started && v->tries <= most && v->wanted;
    v->state = again ? HR__START : HR__ENDED;
    v->again = again ? hr__serve_now() + (uint64_t)(wait * 1e9) : 0;
    hr_log_message(HR_WARNING, "model %s: version %lld cannot be loaded: %s", v->model->name, (long long)v->number,
                   err->text);
}

static void load_version(hr__version *v)
{
    hr__models *models = v->model->models;
    hr_error err = {0};
    if (models->started) setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10); /* requests come first */
    const hr_status st = models->calls->load(v, models->opts, &err);
    uv_mutex_lock(&models->lock);
    end_load(models, v, st, &err);
    v->busy = false;
    models->loads--;
    models->works--;
    uv_cond_broadcast(&models->changed);
    uv_mutex_unlock(&models->lock);
}

/* What a model took, or its runs, goes from the C library back to the system. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void unload_version(hr__version *v)
{
    hr__models *models = v->model->models;
    models->calls->unload(v);
    give_back_memory();
    uv_mutex_lock(&models->lock);
    v->state = HR__ENDED;
    v->stale = v->busy = false;
    models->works--;
    hr_log_message(HR_INFO, "model %s: version %lld is unloaded", v->model->name, (long long)v->number);
    uv_cond_broadcast(&models->changed);
    uv_mutex_unlock(&models->lock);
}

/* What a thread is to do with a version; it ends by itself, and `works` says how many there are. */
typedef struct version_work {
    void (*fn)(hr__version *);
    hr__version *version;
} version_work;

static void *work_thread(void *user)
{
    const version_work work = *(version_work *)user;
    hr_free(user);
    work.fn(work.version);
    return NULL;
}

static bool detached_thread(void (*fn)(hr__version *), hr__version *version)
{
    pthread_attr_t attr;
    pthread_t thread;
    version_work *work = hr_malloc(sizeof *work);
    if (!work || pthread_attr_init(&attr) != 0) {
        hr_free(work);
        return false;
    }
    *work = (version_work){fn, version};
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const bool made = pthread_create(&thread, &attr, work_thread, work) == 0;
    pthread_attr_destroy(&attr);
    if (!made) hr_free(work);
    return made;
}

static void begin_load(hr__models *models, hr__version *v)
{
    v->busy = true;
    v->state = HR__LOADING;
    models->loads++;
    models->works++;
    if (detached_thread(load_version, v)) return;
    hr_error err = {0};
    models->loads--;
    models->works--;
    v->busy = false;
    end_load(models, v, hr_no_memory(&err, "a thread"), &err);
}

static void begin_unload(hr__models *models, hr__version *v)
{
    v->busy = true;
    models->works++;
    if (detached_thread(unload_version, v)) return;
    models->works--;
    v->busy = false; /* at the next step */
}

/* ---- steps ---- */

static bool is_unwanted(const hr__version *v) { return v->state == HR__AVAILABLE && !v->wanted; }

/* One action: an unload if a wanted version is there or none is wanted, else a load. */
static void model_step(hr__models *models, hr__model *m, int most_loads)
{
    hr__version *lowest = NULL, *next = NULL;
    bool wanted = false, ready = false, busy = false;
    int unwanted = 0;
    const uint64_t now = hr__serve_now();
    for (hr__version *v = m->versions; v; v = v->next) {
        wanted |= v->wanted;
        ready |= v->wanted && v->state == HR__AVAILABLE;
        busy |= v->state == HR__LOADING;
        if (is_unwanted(v)) lowest = v, unwanted++;
        if (!next && v->wanted && v->state == HR__START && !v->busy && v->again <= now) next = v;
        if (!v->wanted && v->state == HR__START && !v->busy) v->state = HR__ENDED;
        if (v->state == HR__UNLOADING && v->holders == 0 && !v->busy) begin_unload(models, v);
    }
    if (lowest && (ready || !wanted || unwanted > 1)) {
        lowest->state = HR__UNLOADING;
        if (lowest->holders == 0) begin_unload(models, lowest);
    } else if (next && (!busy || !models->started) && models->loads < most_loads) {
        begin_load(models, next);
    }
}

/* Old versions that ended are forgotten. */
static void forget_ended(hr__model *m)
{
    int ended = 0;
    for (hr__version **at = &m->versions; *at;) {
        hr__version *v = *at;
        if (v->state == HR__ENDED && !v->busy && !v->wanted && v->holders == 0 && ++ended > KEPT_ENDED) {
            *at = v->next;
            hr_free(v->path);
            hr_free(v);
        } else {
            at = &v->next;
        }
    }
}

/* ---- rest ---- */

static void look_for_idle(const hr__models *models)
{
    for (hr__model *m = models->first; m; m = m->next)
        for (hr__version *v = m->versions; v; v = v->next) {
            v->idle = !v->asked && v->holders == 0;
            v->rested &= !v->asked;
            v->asked = false;
        }
}

static hr__version *find_tired(const hr__models *models)
{
    for (hr__model *m = models->first; m; m = m->next)
        for (hr__version *v = m->versions; v; v = v->next)
            if (v->idle && !v->asked && !v->rested && v->state == HR__AVAILABLE && !v->busy && v->kind->rest) return v;
    return NULL;
}

/* Gives up the lock meanwhile. */
static void let_rest(hr__models *models, hr__version *v)
{
    v->rested = true;
    v->holders++;
    uv_mutex_unlock(&models->lock);
    v->kind->rest(v->loaded);
    give_back_memory();
    uv_mutex_lock(&models->lock);
    v->holders--;
}

static void models_thread(void *user)
{
    hr__models *models = user;
    uint64_t next_rest = 0;
    uv_mutex_lock(&models->lock);
    while (!models->stop) {
        const uint64_t now = hr__serve_now();
        if (next_rest <= now) {
            look_for_idle(models);
            next_rest = now + REST;
        }
        hr__version *tired = find_tired(models);
        if (tired) let_rest(models, tired);
        if (models->next_look <= now) {
            models->next_look = models->look_every > 0 ? now + (uint64_t)(models->look_every * 1e9) : UINT64_MAX;
            look_at_folders(models);
            uv_cond_broadcast(&models->changed);
        }
        const int after = models->opts->num_load_threads > 0 ? models->opts->num_load_threads : 1;
        for (hr__model *m = models->first; m; m = m->next) {
            for (int i = 0; i < (models->started ? 1 : STARTING_LOADS); i++)
                model_step(models, m, models->started ? after : STARTING_LOADS);
            forget_ended(m);
        }
        uint64_t wait = STEP;
        if (models->next_look > now && models->next_look - now < wait) wait = models->next_look - now;
        uv_cond_timedwait(&models->changed, &models->lock, wait);
    }
    uv_mutex_unlock(&models->lock);
}

/* ---- what is to be served ---- */

static hr_status check_configs(const hr__model_config *configs, int count, hr__fault *fault)
{
    for (int i = 0; i < count; i++) {
        const hr__model_config *c = &configs[i];
        for (int k = 0; k < i; k++)
            if (strcmp(c->name, configs[k].name) == 0)
                return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                                     "Illegal to list model %s multiple times in config list", c->name);
        if (c->base_path[0] != '/')
            return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                                 "Expected model %s to have an absolute path or URI; got base_path()=%s", c->name,
                                 c->base_path);
        if (!c->platform[0])
            return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                                 "Illegal setting neither ModelServerConfig::model_type nor "
                                 "ModelServerConfig::model_platform.");
        if (!hr__servable_kind(c->platform))
            return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                                 "Model %s: there is no platform '%s'; register its servable", c->name, c->platform);
    }
    return HR_OK;
}

static hr__model *model_of(hr__models *models, const char *name)
{
    hr__model *m = model_named(models, (hr_view){name, (int64_t)strlen(name)});
    if (m) return m;
    m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->models = models;
    m->name = hr_strdup(name);
    m->config = (hr__model_config){.base_path = hr_strdup(""), .platform = hr_strdup("")};
    if (!m->name || !m->config.base_path || !m->config.platform) {
        hr_free(m->name);
        hr__config_clear(&m->config);
        hr_free(m);
        return NULL;
    }
    hr__model **last = &models->first;
    while (*last) last = &(*last)->next;
    *last = m;
    return m;
}

/* A log stays open until the end of the server: another one is not made for a model that has one. */
static hr_status begin_log(hr__model *m, const hr__model_config *config, hr__fault *fault)
{
    hr__request_log *log;
    hr_error err = {0};
    if (m->log || !config->log_prefix || config->log_rate <= 0) return HR_OK;
    if (hr__request_log_open(config, &log, &err) != HR_OK) return hr__fault_error(fault, err.code, &err);
    m->log = log;
    return HR_OK;
}

/* A model of another folder begins anew; versions of the old one are unloaded, and so those of the new one wait. */
static void adopt_config(hr__model *m, hr__model_config *config)
{
    if (m->config.base_path && strcmp(m->config.base_path, config->base_path) != 0) {
        hr_free(m->found);
        m->found = NULL;
        m->found_count = 0;
        m->looked = false;
        for (hr__version *v = m->versions; v; v = v->next) {
            v->stale = v->state == HR__AVAILABLE || v->state == HR__LOADING;
            v->print = 0;
        }
    }
    hr__config_clear(&m->config);
    m->config = *config;
    *config = (hr__model_config){0};
    m->wanted = true;
}

static hr_status adopt_configs(hr__models *models, hr__model_config *configs, int count, hr__fault *fault)
{
    for (hr__model *m = models->first; m; m = m->next) m->wanted = false;
    for (int i = 0; i < count; i++) {
        hr__model *m = model_of(models, configs[i].name);
        if (m) HR_TRY(begin_log(m, &configs[i], fault));
        if (!m) return hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "no memory for a model");
        adopt_config(m, &configs[i]);
    }
    models->next_look = 0;
    uv_cond_broadcast(&models->changed);
    return HR_OK;
}

/* Whether all that is wanted is there; *failed: a model that will not be. */
static bool all_there(const hr__models *models, const hr__model **failed)
{
    bool there = true;
    *failed = NULL;
    for (const hr__model *m = models->first; m; m = m->next) {
        bool any = false, ended = false;
        if (!m->wanted) continue;
        for (const hr__version *v = m->versions; v; v = v->next) {
            if (!v->wanted) continue;
            any |= v->state == HR__AVAILABLE;
            ended |= v->state == HR__ENDED || (v->state == HR__START && v->tries > 0);
            there &= v->state == HR__AVAILABLE || v->state == HR__ENDED;
        }
        there &= m->looked && (any || models->opts->wait_forever);
        if (m->looked && !any && (ended || m->trouble[0])) *failed = m;
        if (ended && !models->started) *failed = m;
    }
    return there;
}

static hr_status model_failed(const hr__model *m, hr__fault *fault)
{
    for (const hr__version *v = m->versions; v; v = v->next)
        if (v->wanted && v->error[0])
            return hr__fault_set(fault, v->status, "model %s, version %lld: %s", m->name, (long long)v->number,
                                 v->error);
    return hr__fault_set(fault, HR_NOT_FOUND, "model %s: %s", m->name, m->trouble);
}

static bool is_available(const hr__model *m, int64_t number)
{
    for (const hr__version *v = m->versions; v; v = v->next)
        if (v->number == number) return v->state == HR__AVAILABLE;
    return false;
}

static bool same_label(const hr__model *m, const hr__label *label)
{
    for (int i = 0; i < m->label_count; i++)
        if (strcmp(m->labels[i].name, label->name) == 0) return m->labels[i].version == label->version;
    return false;
}

static void free_labels(hr__label *labels, int count)
{
    for (int i = 0; i < count; i++) hr_free(labels[i].name);
    hr_free(labels);
}

/* The labels of the config hold from now on. */
static hr_status set_labels(hr__models *models, hr__model *m, hr__fault *fault)
{
    const hr__model_config *c = &m->config;
    for (int i = 0; i < c->label_count; i++) {
        if (is_available(m, c->labels[i].version) || same_label(m, &c->labels[i])) continue;
        if (models->opts->allow_version_labels_for_unavailable_models) continue;
        return hr__fault_set(
            fault, HR_FAILED_PRECONDITION,
            "Request to assign label to version %lld of model %s, which is not currently available for "
            "inference",
            (long long)c->labels[i].version, c->name);
    }
    hr__label *labels = hr_calloc((size_t)c->label_count + 1, sizeof *labels);
    bool made = labels != NULL;
    for (int i = 0; i < c->label_count && made; i++) {
        labels[i] = (hr__label){hr_strdup(c->labels[i].name), c->labels[i].version};
        made = labels[i].name != NULL;
    }
    if (!made) {
        if (labels) free_labels(labels, c->label_count);
        return hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "no memory for labels");
    }
    free_labels(m->labels, m->label_count);
    m->labels = labels;
    m->label_count = c->label_count;
    return HR_OK;
}

static hr_status set_all_labels(hr__models *models, hr__fault *fault)
{
    for (hr__model *m = models->first; m; m = m->next)
        if (m->wanted) HR_TRY(set_labels(models, m, fault));
    return HR_OK;
}

hr_status hr__models_set(hr__models *models, hr__model_config *configs, int count, bool wait, hr__fault *fault)
{
    HR_TRY(check_configs(configs, count, fault));
    uv_mutex_lock(&models->lock);
    hr_status st = adopt_configs(models, configs, count, fault);
    const hr__model *failed = NULL;
    while (st == HR_OK && wait && !models->stop && (models->next_look == 0 || !all_there(models, &failed))) {
        if (failed && models->next_look != 0 && !models->opts->wait_forever) st = model_failed(failed, fault);
        if (st == HR_OK) uv_cond_wait(&models->changed, &models->lock);
    }
    if (st == HR_OK && failed && !models->opts->wait_forever) st = model_failed(failed, fault);
    if (st == HR_OK && models->stop) st = hr__fault_set(fault, HR_UNAVAILABLE, "the server ends");
    if (st == HR_OK) models->started = true;
    if (st == HR_OK) st = set_all_labels(models, fault);
    uv_mutex_unlock(&models->lock);
    return st;
}

hr_status hr__models_new(const hr_server_opts *opts, const hr__version_calls *calls, hr__models **out, hr_error *err)
{
    hr__models *models = hr_calloc(1, sizeof *models);
    if (!models) return hr_no_memory(err, "a server");
    *out = models;
    models->opts = opts;
    models->calls = calls;
    models->look_every = opts->file_system_poll_wait_seconds ? *opts->file_system_poll_wait_seconds : 1;
    models->next_look = UINT64_MAX;
    if (uv_mutex_init(&models->lock) != 0) goto fail;
    if (uv_cond_init(&models->changed) != 0) goto fail;
    if (uv_thread_create(&models->thread, models_thread, models) != 0) goto fail;
    return HR_OK;
fail:
    hr_free(models);
    *out = NULL;
    return hr_no_memory(err, "a thread");
}

static void free_model(hr__model *m)
{
    while (m->versions) {
        hr__version *v = m->versions;
        m->versions = v->next;
        m->models->calls->unload(v);
        hr_free(v->path);
        hr_free(v);
    }
    free_labels(m->labels, m->label_count);
    hr__request_log_close(m->log);
    hr__config_clear(&m->config);
    hr_free(m->name);
    hr_free(m->found);
    hr_free(m);
}

void hr__models_end(hr__models *models)
{
    if (!models) return;
    uv_mutex_lock(&models->lock);
    models->stop = true;
    uv_cond_broadcast(&models->changed);
    uv_mutex_unlock(&models->lock);
}

void hr__models_free(hr__models *models)
{
    if (!models) return;
    hr__models_end(models);
    uv_thread_join(&models->thread);
    uv_mutex_lock(&models->lock);
    while (models->works) uv_cond_wait(&models->changed, &models->lock);
    uv_mutex_unlock(&models->lock);
    while (models->first) {
        hr__model *m = models->first;
        models->first = m->next;
        free_model(m);
    }
    uv_cond_destroy(&models->changed);
    uv_mutex_destroy(&models->lock);
    hr_free(models);
}
