"""Prints the names of TensorFlow that docs/tf_data.md has a row for, one a line: python tensorflow_names.py, with
TensorFlow 2.15.1. tensorflow_names.txt is what it prints. A name of tf.compat.v1 is left out where tf has it, too."""
import tensorflow as tf

QUEUES = """Coordinator LooperThread QueueRunner add_queue_runner batch batch_join input_producer limit_epochs
match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join queue_runner
range_input_producer shuffle_batch shuffle_batch_join slice_input_producer start_queue_runners
string_input_producer""".split()
READERS = """FIFOQueue FixedLengthRecordReader IdentityReader LMDBReader PaddingFIFOQueue PriorityQueue QueueBase
RandomShuffleQueue ReaderBase TFRecordReader TextLineReader WholeFileReader""".split()


def find(path):
    value = tf
    for word in path.split(".")[1:]:
        value = getattr(value, word)
    return value


def public(path):
    return sorted(name for name in dir(find(path)) if not name.startswith("_"))


def main():
    for path in ("tf.data", "tf.data.Dataset", "tf.data.Iterator", "tf.data.Options", "tf.data.experimental",
                 "tf.data.experimental.service", "tf.io", "tf.io.gfile"):
        for name in public(path):
            print(f"{path}.{name}")
    for path in ("data", "data.Dataset", "data.Iterator", "data.experimental", "io"):
        for name in sorted(set(public(f"tf.compat.v1.{path}")) - set(public(f"tf.{path}"))):
            print(f"tf.compat.v1.{path}.{name}")
    for path, names in (("tf.compat.v1.python_io", public("tf.compat.v1.python_io")),
                        ("tf.compat.v1.train", QUEUES), ("tf.compat.v1", READERS)):
        for name in names:
            find(f"{path}.{name}")
            print(f"{path}.{name}")


main()
