/* JPEG by libjpeg, which jumps out of its functions on errors: what must be known after a jump lies in a struct. */
#include "train/ops/images/image_files.h"

#ifdef HR_HAVE_JPEG
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>
#include <setjmp.h>

enum { MOST_SCANS = 500 }; /* of a progressive file: each goes through the whole image */

typedef struct jpeg_work {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_source_mgr source;
    struct jpeg_destination_mgr sink;
    jmp_buf back;
    char message[JMSG_LENGTH_MAX];
    bool may_be_cut, was_cut, no_memory;
    uint8_t *line; /* of CMYK */
    uint8_t *pixels;
    int64_t row, height; /* bytes of a row, rows */
    hr_strings *out;
    JOCTET piece[4096];
    union {
        struct jpeg_decompress_struct in;
        struct jpeg_compress_struct to;
    };
} jpeg_work;

static void fail_jpeg(j_common_ptr j)
{
    jpeg_work *w = j->client_data;
    j->err->format_message(j, w->message);
    longjmp(w->back, 1);
}

static void no_message(j_common_ptr j) { (void)j; }

static void watch_scans(j_common_ptr j)
{
    if (((j_decompress_ptr)j)->input_scan_number > MOST_SCANS) ERREXIT(j, JERR_BAD_PROGRESSION);
}

static void no_source(j_decompress_ptr j) { (void)j; }

/* The whole file is there from the beginning: who asks for more is at its end. Once, an end may be made up. */
static boolean end_source(j_decompress_ptr j)
{
    static const JOCTET end[] = {0xff, JPEG_EOI};
    jpeg_work *w = j->client_data;
    if (!w->may_be_cut || w->was_cut) ERREXIT(j, JERR_INPUT_EOF);
    w->was_cut = true;
    j->src->next_input_byte = end;
    j->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void skip_source(j_decompress_ptr j, long bytes)
{
    if (bytes <= 0) return;
    if ((size_t)bytes > j->src->bytes_in_buffer) {
        (void)end_source(j);
        return;
    }
    j->src->next_input_byte += bytes;
    j->src->bytes_in_buffer -= (size_t)bytes;
}

static void begin_jpeg(jpeg_work *w)
{
    w->in.err = jpeg_std_error(&w->errors); /* the first members of both kinds are the same */
    w->errors.error_exit = fail_jpeg;
    w->errors.output_message = no_message;
    w->in.client_data = w;
    (void)snprintf(w->message, sizeof w->message, "no memory");
}

static void open_jpeg(jpeg_work *w, hr_view bytes)
{
    jpeg_create_decompress(&w->in);
    w->in.client_data = w;
    w->source = (struct jpeg_source_mgr){.next_input_byte = (const JOCTET *)bytes.data,
                                         .bytes_in_buffer = (size_t)bytes.size,
                                         .init_source = no_source,
                                         .fill_input_buffer = end_source,
                                         .skip_input_data = skip_source,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = no_source};
    w->in.src = &w->source;
    w->progress.progress_monitor = watch_scans;
    w->in.progress = &w->progress;
    (void)jpeg_read_header(&w->in, TRUE);
}

static hr_status jpeg_failed(const jpeg_work *w, hr_view bytes, hr_error *err)
{
    if (w->no_memory || w->errors.msg_code == JERR_OUT_OF_MEMORY) return hr_no_memory(err, "an image");
    return hr_fail(err, HR_INVALID_ARGUMENT, "image.damaged", "expected a JPEG file, got %lld bytes that are none: %s",
                   (long long)bytes.size, w->message);
}

/* Four inks, which most writers store as what they leave, as three colors. */
static void colors_of_inks(const uint8_t *line, uint8_t *out, int64_t width, bool stored_as_left)
{
    for (int64_t x = 0; x < width; x++)
        for (int c = 0; c < 3; c++) {
            const int ink = line[4 * x + c], black = line[4 * x + 3];
            out[3 * x + c] = (uint8_t)(stored_as_left ? black * ink / 255 : (255 - black) * (255 - ink) / 255);
        }
}

static hr_status read_jpeg(jpeg_work *w, const hr__jpeg_reading *how, const hr__image_sink *sink, hr_error *err)
{
    j_decompress_ptr j = &w->in;
    const bool inks = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;
    const int channels = how->channels ? how->channels : j->num_components < 3 ? j->num_components : 3;
    if (channels == 2) ERREXIT(j, JERR_CONVERSION_NOTIMPL);
    j->out_color_space = channels == 1 ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
    j->do_fancy_upsampling = !how->plain_upscaling;
    j->dct_method = how->fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    j->scale_num = 1;
    j->scale_denom = (unsigned)how->ratio;
    jpeg_calc_output_dimensions(j);
    HR_TRY(hr__image_check(j->image_height, j->image_width, channels, err));
    (void)jpeg_start_decompress(j);
    const int64_t height = j->output_height, width = j->output_width, row = width * channels;
    uint8_t *pixels = sink->begin(sink->user, height, width, channels);
    w->row = row;
    w->height = height;
    w->pixels = pixels;
    if (pixels && channels == 3 && inks) w->line = hr_malloc((size_t)width * 4);
    w->no_memory = !pixels || (channels == 3 && inks && !w->line);
    if (w->no_memory) ERREXIT1(j, JERR_OUT_OF_MEMORY, 0);
    while (j->output_scanline < j->output_height) {
        const int64_t y = j->output_scanline;
        JSAMPROW line = w->line ? w->line : pixels + y * row;
        (void)jpeg_read_scanlines(j, &line, 1);
        if (w->line) colors_of_inks(line, pixels + y * row, width, j->saw_Adobe_marker);
    }
    (void)jpeg_finish_decompress(j);
    return HR_OK;
}

/* After an error: whether enough rows were read. Then the others are black. */
static bool rest_may_lack(jpeg_work *w, const hr__jpeg_reading *how)
{
    const int64_t rows = w->pixels ? w->in.output_scanline : 0;
    if (rows == 0 || w->no_memory || !how->may_be_cut || (float)rows < how->fraction * (float)w->height) return false;
    memset(w->pixels + rows * w->row, 0, (size_t)((w->height - rows) * w->row));
    return true;
}

/* One job with a file: `shape` alone if that is asked for. */
static hr_status use_jpeg(hr_view bytes, const hr__jpeg_reading *how, const hr__image_sink *sink, int64_t *shape,
                          hr_error *err)
{
    jpeg_work *w = hr_calloc(1, sizeof *w);
    hr_status status = HR_OK;
    if (!w) return hr_no_memory(err, "an image");
    begin_jpeg(w);
    if (setjmp(w->back)) {
        status = how && rest_may_lack(w, how) ? HR_OK : jpeg_failed(w, bytes, err);
    } else {
        w->may_be_cut = how && how->may_be_cut;
        open_jpeg(w, bytes);
        if (shape)
            shape[0] = w->in.image_height, shape[1] = w->in.image_width, shape[2] = w->in.num_components;
        else
            status = read_jpeg(w, how, sink, err);
    }
    jpeg_destroy_decompress(&w->in);
    hr_free(w->line);
    hr_free(w);
    return status;
}

hr_status hr__jpeg_decode(hr_view bytes, const hr__jpeg_reading *how, const hr__image_sink *sink, hr_error *err)
{
    return use_jpeg(bytes, how, sink, NULL, err);
}

hr_status hr__jpeg_shape(hr_view bytes, int64_t shape[3], hr_error *err)
{
    return use_jpeg(bytes, NULL, NULL, shape, err);
}

/* ---- writing ---- */

static void begin_sink(j_compress_ptr j)
{
    jpeg_work *w = j->client_data;
    j->dest->next_output_byte = w->piece;
    j->dest->free_in_buffer = sizeof w->piece;
}

static boolean flush_sink(j_compress_ptr j)
{
    jpeg_work *w = j->client_data;
    hr_strings_add(w->out, (hr_view){(const char *)w->piece, sizeof w->piece});
    begin_sink(j);
    return TRUE;
}

static void end_sink(j_compress_ptr j)
{
    jpeg_work *w = j->client_data;
    hr_strings_add(w->out, (hr_view){(const char *)w->piece, (int64_t)(sizeof w->piece - j->dest->free_in_buffer)});
}

static void write_xmp(j_compress_ptr j, hr_view xmp)
{
    static const char name[] = "http://ns.adobe.com/xap/1.0/"; /* with its end */
    jpeg_write_m_header(j, JPEG_APP0 + 1, (unsigned)(sizeof name + (size_t)xmp.size));
    for (size_t i = 0; i < sizeof name; i++) jpeg_write_m_byte(j, name[i]);
    for (int64_t i = 0; i < xmp.size; i++) jpeg_write_m_byte(j, (unsigned char)xmp.data[i]);
}

static void write_jpeg(jpeg_work *w, const hr__pixels *image, const hr__jpeg_writing *how)
{
    j_compress_ptr j = &w->to;
    jpeg_create_compress(j);
    j->client_data = w;
    w->sink = (struct jpeg_destination_mgr){
        .init_destination = begin_sink, .empty_output_buffer = flush_sink, .term_destination = end_sink};
    j->dest = &w->sink;
    j->image_width = (JDIMENSION)image->width;
    j->image_height = (JDIMENSION)image->height;
    j->input_components = image->channels;
    j->in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(j);
    j->optimize_coding = how->optimize;
    j->density_unit = how->per_cm ? 2 : 1;
    j->X_density = (UINT16)how->x_density;
    j->Y_density = (UINT16)how->y_density;
    jpeg_set_quality(j, how->quality, TRUE);
    if (how->progressive) jpeg_simple_progression(j);
    for (int i = 0; how->whole_chroma && i < j->num_components; i++)
        j->comp_info[i].h_samp_factor = j->comp_info[i].v_samp_factor = 1;
    jpeg_start_compress(j, TRUE);
    if (how->xmp.size) write_xmp(j, how->xmp);
    while (j->next_scanline < j->image_height) {
        JSAMPROW line =
            (JSAMPROW)(uintptr_t)(image->pixels + (int64_t)j->next_scanline * image->width * image->channels);
        (void)jpeg_write_scanlines(j, &line, 1);
    }
    jpeg_finish_compress(j);
}

hr_status hr__jpeg_encode(const hr__pixels *image, const hr__jpeg_writing *how, hr_strings *out, hr_error *err)
{
    HR_TRY(hr__image_check(image->height, image->width, image->channels, err));
    jpeg_work *w = hr_calloc(1, sizeof *w);
    hr_status status = HR_OK;
    if (!w) return hr_no_memory(err, "an image");
    w->out = out;
    begin_jpeg(w);
    if (setjmp(w->back))
        status = w->errors.msg_code == JERR_OUT_OF_MEMORY ? hr_no_memory(err, "an image")
                                                          : hr_fail(err, HR_INVALID_ARGUMENT, "image.size",
                                                                    "expected what JPEG can hold, got: %s", w->message);
    else
        write_jpeg(w, image, how);
    jpeg_destroy_compress(&w->to);
    hr_free(w);
    return status;
}
#else
static hr_status no_jpeg(hr_error *err)
{
    return hr_fail(err, HR_UNIMPLEMENTED, "image.library",
                   "expected a library built with libjpeg (libjpeg62-turbo-dev), got one without");
}

hr_status hr__jpeg_decode(hr_view bytes, const hr__jpeg_reading *how, const hr__image_sink *sink, hr_error *err)
{
    (void)bytes, (void)how, (void)sink;
    return no_jpeg(err);
}

hr_status hr__jpeg_shape(hr_view bytes, int64_t shape[3], hr_error *err)
{
    (void)bytes, (void)shape;
    return no_jpeg(err);
}

hr_status hr__jpeg_encode(const hr__pixels *image, const hr__jpeg_writing *how, hr_strings *out, hr_error *err)
{
    (void)image, (void)how, (void)out;
    return no_jpeg(err);
}
#endif
