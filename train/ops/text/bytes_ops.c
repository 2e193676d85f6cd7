/* Tensors as strings and back: SerializeTensor, ParseTensor; strings that are compressed: DecodeCompressed. */
#include <headrace/graphdef.h>
#include <headrace/kernels.h>
#include <zlib.h>

static hr_status serialize_compute(hr_kernel *k, hr_error *err)
{
    hr_strings out = {0};
    char *bytes;
    size_t size;
    HR_TRY(hr_tensor_export(k->input[0], &bytes, &size, err));
    hr_strings_add(&out, (hr_view){bytes, (int64_t)size});
    hr_strings_end(&out);
    hr_free(bytes);
    return hr_strings_give(&out, k, 0, HR_SCALAR, err);
}

static hr_status parse_compute(hr_kernel *k, hr_error *err)
{
    const hr_dtype wanted = hr_attr_type(k->node, "out_type");
    hr_tensor value;
    HR_TRY(hr_expect_rank("serialized", k->input[0]->shape, 0, err));
    const hr_status st = hr_tensor_import(*(const hr_view *)k->input[0]->data, &value, err);
    if (st == HR_DATA_LOSS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.tensor", "Could not parse `serialized` as TensorProto");
    if (st != HR_OK) return st;
    if (value.dtype == wanted) {
        hr_kernel_give(k, 0, value);
        return HR_OK;
    }
    const hr_dtype found = value.dtype;
    hr_tensor_clear(&value);
    return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.tensor",
                   "Type mismatch between parsed tensor (%s) and dtype (%s)", hr_dtype_name(found),
                   hr_dtype_name(wanted));
}

/* ---- DecodeCompressed: streams of zlib or gzip, several of which may follow each other ---- */

static hr_status inflate_all(hr_kernel *k, z_stream *z, hr_strings *out, hr_error *err)
{
    unsigned char piece[16384];
    int st = Z_OK;
    while (z->avail_in > 0 || st == Z_OK) {
        z->next_out = piece;
        z->avail_out = sizeof piece;
        st = inflate(z, Z_NO_FLUSH);
        hr_strings_add(out, (hr_view){(const char *)piece, (int64_t)(sizeof piece - z->avail_out)});
        if (out->failed || st == Z_MEM_ERROR) return hr_no_memory(err, "decompressed bytes");
        if (hr_kernel_cancelled(k)) return hr_fail(err, HR_CANCELLED, "session.cancelled", "the run was cancelled");
        if (st == Z_STREAM_END && z->avail_in > 0) st = inflateReset(z);
        if (st == Z_STREAM_END) return HR_OK;
        if (st != Z_OK)
            return hr_fail(err, HR_DATA_LOSS, "string.compressed", "inflate() failed with error %d: %s", st,
                           z->msg ? z->msg : "the bytes end too early");
    }
    return HR_OK;
}

static hr_status decompress(hr_kernel *k, hr_view from, int window, hr_strings *out, hr_error *err)
{
    z_stream z = {0};
    if (from.size == 0) return HR_OK;
    if (from.size > INT32_MAX)
        return hr_fail(err, HR_UNIMPLEMENTED, "string.compressed", "expected a string of at most %d bytes, got %lld",
                       INT32_MAX, (long long)from.size);
    if (inflateInit2(&z, window) != Z_OK) return hr_no_memory(err, "decompressed bytes");
    z.next_in = (Bytef *)(uintptr_t)from.data;
    z.avail_in = (uInt)from.size;
    const hr_status st = inflate_all(k, &z, out, err);
    inflateEnd(&z);
    return st;
}

static hr_status decompress_compute(hr_kernel *k, hr_error *err)
{
    const hr_view type = hr_attr_string(k->node, "compression_type");
    const hr_tensor *in = k->input[0];
    const bool gzip = type.size == 4 && memcmp(type.data, "GZIP", 4) == 0;
    if (!gzip && type.size > 0 && !(type.size == 4 && memcmp(type.data, "ZLIB", 4) == 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "Only ZLIB, GZIP or NONE are supported compressions, got '%.*s'", (int)type.size, type.data);
    if (type.size == 0) return hr_kernel_pass(k, 0, 0, in->shape, err);
    hr_strings out = {0};
    hr_status st = HR_OK;
    for (int64_t i = 0; i < in->count && st == HR_OK; i++) {
        st = decompress(k, ((const hr_view *)in->data)[i], gzip ? 16 + MAX_WBITS : MAX_WBITS, &out, err);
        hr_strings_end(&out);
    }
    if (st == HR_OK) return hr_strings_give(&out, k, 0, in->shape, err);
    hr_strings_free(&out);
    return st;
}

#define BYTES_OP(NAME, SHAPES, TYPES, COMPUTE)                                                                         \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shapes = (SHAPES), .types = (TYPES),      \
        .compute = (COMPUTE),                                                                                          \
    }

const hr_graph_op hr_graph_ops_bytes_ops[] = {
    BYTES_OP("DecodeCompressed", "=0", NULL, decompress_compute),
    BYTES_OP("ParseTensor", "[] -> ?", "out_type:any", parse_compute),
    BYTES_OP("SerializeTensor", "? -> []", "T:any", serialize_compute),
    HR_GRAPH_OPS_END,
};
