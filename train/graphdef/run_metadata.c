/* What the nodes of a run did, as TensorFlow's RunMetadata: one device, its nodes by the time when they began. */
#include "proto/step_stats.pb-c.h"
#include "train/graphdef/graphdef_internal.h"

#include <stdio.h>
#include <string.h>

typedef Headrace__Proto__NodeExecStats proto_node_stats;
typedef Headrace__Proto__ThreadName proto_thread;
typedef Headrace__Proto__DeviceStepStats proto_device_stats;

/* As TensorFlow labels it, "name = Op()", with the calls in front. */
static char *node_label(hr__arena *arena, const hr_node_stats *node)
{
    const size_t size = strlen(node->calls) + strlen(node->name) + strlen(node->op) + sizeof "; = ()";
    char *label = hr__arena_get(arena, size);
    if (label) snprintf(label, size, "%s%s%s = %s()", node->calls, *node->calls ? ";" : "", node->name, node->op);
    return label;
}

static proto_node_stats *node_message(hr__arena *arena, const hr_run_stats *stats, const hr_node_stats *node)
{
    struct {
        proto_node_stats node;
        Headrace__Proto__AllocatorMemoryUsed memory, *memories[1];
    } *m = hr__arena_get(arena, sizeof *m);
    if (!m) return NULL;
    const int64_t start = stats->started * 1000 + node->begin, took = node->end - node->begin;
    headrace__proto__node_exec_stats__init(&m->node);
    headrace__proto__allocator_memory_used__init(&m->memory);
    m->memory.allocator_name = (char *)"cpu";
    m->memory.total_bytes = node->bytes;
    m->memories[0] = &m->memory;
    m->node.memory = m->memories;
    m->node.n_memory = 1;
    m->node.node_name = (char *)node->name;
    m->node.timeline_label = node_label(arena, node);
    m->node.thread_id = (uint32_t)node->thread;
    m->node.scheduled_micros = m->node.all_start_micros = start / 1000;
    m->node.scheduled_nanos = m->node.all_start_nanos = start;
    m->node.op_end_rel_micros = m->node.all_end_rel_micros = (took + 999) / 1000;
    m->node.op_end_rel_nanos = m->node.all_end_rel_nanos = took;
    return m->node.timeline_label ? &m->node : NULL;
}

static proto_thread *thread_message(hr__arena *arena, int number)
{
    proto_thread *m = hr__arena_get(arena, sizeof *m);
    char *name = hr__arena_get(arena, 32);
    if (!m || !name) return NULL;
    headrace__proto__thread_name__init(m);
    snprintf(name, 32, number == 0 ? "caller" : "worker %d", number);
    m->key = (uint32_t)number;
    m->value = name;
    return m;
}

static hr_status fill_device(hr__arena *arena, const hr_run_stats *stats, proto_device_stats *device, hr_error *err)
{
    int threads = 0;
    for (int64_t i = 0; i < stats->count; i++)
        if (stats->nodes[i].thread >= threads) threads = stats->nodes[i].thread + 1;
    device->device = (char *)"/job:localhost/replica:0/task:0/device:CPU:0";
    device->node_stats = hr__arena_get(arena, ((size_t)stats->count + 1) * sizeof *device->node_stats);
    device->thread_names = hr__arena_get(arena, ((size_t)threads + 1) * sizeof *device->thread_names);
    if (!device->node_stats || !device->thread_names) return hr_no_memory(err, "what a run did");
    for (int64_t i = 0; i < stats->count; i++)
        if (!(device->node_stats[device->n_node_stats++] = node_message(arena, stats, &stats->nodes[i])))
            return hr_no_memory(err, "what a run did");
    for (int i = 0; i < threads; i++)
        if (!(device->thread_names[device->n_thread_names++] = thread_message(arena, i)))
            return hr_no_memory(err, "what a run did");
    return HR_OK;
}

hr_status hr_run_stats_export(const hr_run_stats *stats, char **bytes, size_t *size, hr_error *err)
{
    if (!stats || !bytes || !size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.stats",
                       "hr_run_stats_export: expected what a run did, and places for its bytes and their size");
    hr__arena arena = {0};
    proto_device_stats device = HEADRACE__PROTO__DEVICE_STEP_STATS__INIT;
    Headrace__Proto__StepStats step = HEADRACE__PROTO__STEP_STATS__INIT;
    Headrace__Proto__RunMetadata message = HEADRACE__PROTO__RUN_METADATA__INIT;
    step.dev_stats = (proto_device_stats *[]){&device};
    step.n_dev_stats = 1;
    message.step_stats = &step;
    hr_status st = fill_device(&arena, stats, &device, err);
    if (st == HR_OK) st = hr__message_bytes(&message.base, bytes, size, err);
    hr__arena_free(&arena);
    return st;
}
