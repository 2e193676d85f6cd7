/* TensorFlow 1 fed sessions from queues. Here is what each of its functions becomes, as a function of its own name:
 * "queues ROW" runs one and prints its elements, batches in brackets. docs/tf_data.md has them as a table.
 *
 * A queue runner, its threads and the coordinator have no counterpart: a pipeline runs ahead by itself. Without .seed the
 * pipeline's is drawn; these have one, so that they print the same each time.
 *
 *     cc queues.c $(pkg-config --cflags --libs headrace) && ./a.out shuffle_batch */
#include <headrace/headrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files to read: three of records "0" to "11", two of lines, one of 2-byte records ---- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) exit(2);
}

static void write_files(void)
{
    for (int f = 0, n = 0; f < 3; f++) {
        char name[32];
        hr_record_writer *out;
        snprintf(name, sizeof name, "part-%d.tfrecord", f);
        if (hr_record_writer_open(name, NULL, &out, NULL) != HR_OK) exit(2);
        for (int i = 0; i < 4; i++, n++) {
            char text[8];
            hr_record_write(out, text, (size_t)snprintf(text, sizeof text, "%d", n), NULL);
        }
        if (hr_record_writer_commit(out, NULL) != HR_OK) exit(2);
    }
    write_text("lines-0.txt", "a\nb\n");
    write_text("lines-1.txt", "c\nd\n");
    write_text("pairs.bin", "AABBCC");
}

/* ---- producers of names and numbers ---- */

/* tf.train.match_filenames_once("part-*.tfrecord") */
static hr_dataset *match_filenames_once(void) { return hr_list_files("part-*.tfrecord"); }

/* tf.train.string_input_producer(files, num_epochs=2, shuffle=True) */
static hr_dataset *string_input_producer(void)
{
    return hr_repeat(hr_list_files("part-*.tfrecord", .shuffle = true, .seed = 1), .count = HR_I64(2));
}

static hr_dataset *tensor(void)
{
    static const int64_t numbers[] = {10, 20, 30};
    static const char *const name = "value";
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(3), numbers);
    return hr_from_tensor_slices(&t, &name, 1);
}

/* tf.train.input_producer(tensor, num_epochs=2, shuffle=False); shuffle: an hr_shuffle before the hr_repeat */
static hr_dataset *input_producer(void) { return hr_repeat(tensor(), .count = HR_I64(2)); }

/* tf.train.slice_input_producer([numbers], num_epochs=1, shuffle=True, seed=4); of several tensors: several components */
static hr_dataset *slice_input_producer(void) { return hr_shuffle(tensor(), 3, .seed = 4); }

/* tf.train.range_input_producer(4, num_epochs=2, shuffle=True, seed=2) */
static hr_dataset *range_input_producer(void) { return hr_shuffle_and_repeat(hr_range(4), 4, .count = 2, .seed = 2); }

/* tf.train.limit_epochs(tensor, num_epochs=2) */
static hr_dataset *limit_epochs(void) { return hr_repeat(tensor(), .count = HR_I64(2)); }

/* ---- readers ---- */

/* tf.TFRecordReader().read(string_input_producer(files, shuffle=False)) */
static hr_dataset *tf_record_reader(void) { return hr_tfrecord("part-*.tfrecord"); }

/* tf.TextLineReader(skip_header_lines=1): each file without its first line */
static hr_dataset *lines_after_first(const hr_element *file, void *user)
{
    return hr_skip(hr_text_lines_fn(file, user), 1);
}
static hr_dataset *text_line_reader(void)
{
    return hr_interleave(hr_list_files("lines-*.txt"), lines_after_first, NULL, .cycle_length = 1);
}

/* tf.FixedLengthRecordReader(record_bytes=2) */
static hr_dataset *fixed_length_record_reader(void) { return hr_fixed_length_records("pairs.bin", 2); }

/* tf.WholeFileReader().read(queue): a file is an element, read by a function */
static hr_status read_file(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    char text[256];
    const hr_view name = *(const hr_view *)hr_get(in, "value")->data;
    snprintf(text, sizeof text, "%.*s", (int)name.size, name.data);
    FILE *f = fopen(text, "rb");
    if (!f) return hr_call_fail(call, HR_NOT_FOUND, "%s: cannot be read", text);
    const size_t size = fread(text, 1, sizeof text, f);
    fclose(f);
    return hr_set_string(out, "value", text, (int64_t)size);
}
static hr_dataset *whole_file_reader(void) { return hr_map(hr_list_files("*.bin"), read_file, NULL); }

/* tf.IdentityReader().read(queue): the names themselves */
static hr_dataset *identity_reader(void) { return hr_list_files("lines-*.txt"); }

/* ---- batches ---- */

/* tf.train.batch([x], batch_size=3): a smaller last batch is dropped unless allow_smaller_final_batch=True */
static hr_dataset *batch(void) { return hr_batch(hr_range(8), 3, .drop_remainder = true); }

/* A vector of as many numbers as its own. */
static hr_status numbers_of(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data;
    int64_t *to = hr_set_count(out, "numbers", n);
    for (int64_t i = 0; to && i < n; i++) to[i] = n;
    return HR_OK;
}
static hr_dataset *vectors(void)
{
    static const hr_field field = {.name = "numbers", .dtype = HR_INT64, .shape = {1, {-1}}};
    static const hr_schema vector = {.fields = 1, .field = &field};
    return hr_map(hr_range(4, .start = 1), numbers_of, NULL, .output = &vector);
}

/* tf.train.batch([x], batch_size=2, dynamic_pad=True) */
static hr_dataset *batch_dynamic_pad(void) { return hr_padded_batch(vectors(), 2); }

/* tf.train.batch_join([reader() for _ in range(3)], batch_size=4): three readers, each with a file at a time */
static hr_dataset *batch_join(void)
{
    hr_dataset *ds = hr_interleave(hr_list_files("part-*.tfrecord"), hr_tfrecord_fn, NULL, .cycle_length = 3);
    return hr_batch(ds, 4, .drop_remainder = true);
}

/* tf.train.shuffle_batch([x], batch_size=4, capacity=16, min_after_dequeue=8, seed=1) */
static hr_dataset *shuffle_batch(void)
{
    return hr_batch(hr_shuffle(hr_range(12), 8, .seed = 1), 4, .drop_remainder = true);
}

/* tf.train.shuffle_batch_join([reader() for _ in range(3)], batch_size=4, capacity=16, min_after_dequeue=8, seed=1) */
static hr_dataset *shuffle_batch_join(void)
{
    hr_dataset *ds = hr_interleave(hr_list_files("part-*.tfrecord"), hr_tfrecord_fn, NULL, .cycle_length = 3);
    return hr_batch(hr_shuffle(ds, 8, .seed = 1), 4, .drop_remainder = true);
}

/* keep_input of the maybe_ functions: whether an element is to be in a batch. */
static bool is_odd(const hr_element *element, void *user)
{
    (void)user;
    const hr_tensor *t = hr_get(element, "value");
    if (t->dtype == HR_INT64) return *(const int64_t *)t->data % 2 == 1;
    const hr_view text = *(const hr_view *)t->data;
    return text.data[text.size - 1] % 2 == 1;
}

/* tf.train.maybe_batch([x], keep_input=x % 2 == 1, batch_size=2) */
static hr_dataset *maybe_batch(void)
{
    return hr_batch(hr_filter(hr_range(9), is_odd, NULL), 2, .drop_remainder = true);
}

/* tf.train.maybe_batch_join([...], keep_input, batch_size=3) */
static hr_dataset *maybe_batch_join(void)
{
    hr_dataset *ds = hr_interleave(hr_list_files("part-*.tfrecord"), hr_tfrecord_fn, NULL, .cycle_length = 3);
    return hr_batch(hr_filter(ds, is_odd, NULL), 3, .drop_remainder = true);
}

/* tf.train.maybe_shuffle_batch([x], batch_size=2, capacity, min_after_dequeue=4, keep_input, seed=1) */
static hr_dataset *maybe_shuffle_batch(void)
{
    return hr_batch(hr_shuffle(hr_filter(hr_range(9), is_odd, NULL), 4, .seed = 1), 2, .drop_remainder = true);
}

/* tf.train.maybe_shuffle_batch_join([...], batch_size=3, capacity, min_after_dequeue=4, keep_input, seed=1) */
static hr_dataset *maybe_shuffle_batch_join(void)
{
    hr_dataset *ds = hr_interleave(hr_list_files("part-*.tfrecord"), hr_tfrecord_fn, NULL, .cycle_length = 3);
    return hr_batch(hr_shuffle(hr_filter(ds, is_odd, NULL), 4, .seed = 1), 3, .drop_remainder = true);
}

/* ---- queues themselves ---- */

/* tf.FIFOQueue(capacity=2, ...): what is read ahead */
static hr_dataset *fifo_queue(void) { return hr_prefetch(hr_range(4), 2); }

/* tf.PaddingFIFOQueue, dequeue_many(2) */
static hr_dataset *padding_fifo_queue(void) { return hr_padded_batch(vectors(), 2); }

/* tf.RandomShuffleQueue(capacity=16, min_after_dequeue=4, seed=1) */
static hr_dataset *random_shuffle_queue(void) { return hr_shuffle(hr_range(6), 4, .seed = 1); }

/* tf.train.start_queue_runners(sess): hr_iterate, here in main, starts to read ahead */
static hr_dataset *start_queue_runners(void) { return hr_range(3); }

/* coordinator.request_stop(): hr_cancel from any thread; what was to come is not read, and nothing is joined. Elements
 * that a threshold ends do so by hr_take_while. */
static bool below_three(const hr_element *element, void *user)
{
    (void)user;
    return *(const int64_t *)hr_get(element, "value")->data < 3;
}
static hr_dataset *coordinator(void) { return hr_take_while(hr_counter(), below_three, NULL); }

/* ---- the program ---- */

static const struct {
    const char *name;
    hr_dataset *(*make)(void);
} rows[] = {
    {"match_filenames_once", match_filenames_once},
    {"string_input_producer", string_input_producer},
    {"input_producer", input_producer},
    {"slice_input_producer", slice_input_producer},
    {"range_input_producer", range_input_producer},
    {"limit_epochs", limit_epochs},
    {"TFRecordReader", tf_record_reader},
    {"TextLineReader", text_line_reader},
    {"FixedLengthRecordReader", fixed_length_record_reader},
    {"WholeFileReader", whole_file_reader},
    {"IdentityReader", identity_reader},
    {"batch", batch},
    {"batch_dynamic_pad", batch_dynamic_pad},
    {"batch_join", batch_join},
    {"shuffle_batch", shuffle_batch},
    {"shuffle_batch_join", shuffle_batch_join},
    {"maybe_batch", maybe_batch},
    {"maybe_batch_join", maybe_batch_join},
    {"maybe_shuffle_batch", maybe_shuffle_batch},
    {"maybe_shuffle_batch_join", maybe_shuffle_batch_join},
    {"FIFOQueue", fifo_queue},
    {"PaddingFIFOQueue", padding_fifo_queue},
    {"RandomShuffleQueue", random_shuffle_queue},
    {"start_queue_runners", start_queue_runners},
    {"Coordinator", coordinator},
};

static void print_element(const hr_tensor *t)
{
    if (t->shape.rank > 0) printf(" [");
    for (int64_t i = 0; i < t->count; i++) {
        const hr_view *text = (const hr_view *)t->data + i;
        if (t->shape.rank == 0 || i > 0) printf(" ");
        if (t->dtype == HR_STRING)
            printf("%.*s", (int)text->size, text->data);
        else
            printf("%lld", (long long)((const int64_t *)t->data)[i]);
    }
    if (t->shape.rank > 0) printf("]");
}

static int run(const char *name, hr_dataset *(*make)(void))
{
    const hr_element *e;
    hr_status st;
    hr_iterator *it = hr_iterate(make());
    printf("%s:", name);
    while ((st = hr_next(it, &e)) == HR_OK) print_element(hr_get_at(e, 0));
    printf("\n");
    if (st != HR_END) fprintf(stderr, "%s\n", hr_iterator_error(it)->text);
    hr_iterator_free(it);
    return st != HR_END;
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: queues ROW, for example queues shuffle_batch\n"), 2;
    write_files();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, argv[1]) == 0) return run(rows[i].name, rows[i].make);
    return fprintf(stderr, "queues: there is no row '%s'\n", argv[1]), 2;
}
