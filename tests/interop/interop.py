"""Files between Headrace and a real TensorFlow, both ways. interop.py PROGRAM: the program is interop.c's.

With a later TensorFlow than 2.15.1, whose Keras is another one, what needs estimators and Keras 2 is left out."""
import contextlib
import glob
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.core.framework import tensor_pb2  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
PROGRAM = os.path.abspath(sys.argv.pop(1))
COMPRESSIONS = ["", "GZIP", "ZLIB"]
of_2_15 = unittest.skipUnless(hasattr(tf, "estimator"), "this TensorFlow has no estimators and another Keras")


def headrace(*arguments):
    """What the program prints, a line an item."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stderr}")
    return done.stdout.splitlines()


def examples(file):
    return [tf.train.Example.FromString(r) for r in file]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)


class Records(Case):
    def test_tensorflow_reads_headraces(self):
        for compression in COMPRESSIONS:
            path = self.path("records" + compression)
            headrace("write_records", path, compression)
            read = [r.numpy() for r in tf.data.TFRecordDataset(path, compression)]
            self.assertEqual(len(read), 1001)
            self.assertEqual(read.pop(), b"")
            for i, record in enumerate(read):
                example = tf.train.Example.FromString(record)
                feature = example.features.feature
                np.testing.assert_array_equal(
                    np.float32([np.float32(i) / np.float32(3), -0.0, np.inf]), np.float32(feature["numbers"].float_list.value))
                integers = [i, -i, -(2**63), 2**63 - 1][: i % 5]
                self.assertEqual(list(feature["integers"].int64_list.value), integers)
                self.assertEqual(list(feature["words"].bytes_list.value), [b"word %d" % i, b"\0\xff", b""])
                self.assertEqual(example.SerializeToString(deterministic=True), record)

    def test_headrace_reads_tensorflows(self):
        random = np.random.RandomState(1)
        records = [random.bytes(n) for n in [0, 1, 11, 70000] + list(random.randint(0, 3000, 200))]
        for compression in COMPRESSIONS:
            path = self.path("records" + compression)
            with tf.io.TFRecordWriter(path, compression) as writer:
                for r in records:
                    writer.write(r)
            self.assertEqual([bytes.fromhex(line) for line in headrace("read_records", path, compression)], records)


class Checkpoints(Case):
    VALUES = {
        "global_step": np.int64(42),
        "floats": np.float32([[1.5, -2, 3e38], [1e-45, 0, -0.0]]),
        "empty": np.zeros((0, 4), np.float32),
        "deep/doubles": np.float64([0.1, -1e300]),
        "longs": np.int64([-(2**63), -1, 2**63 - 1]),
        "ints": np.int32([[-7], [7]]),
        "bytes": np.uint8([0, 255]),
        "flags": np.array([True, False, True]),
        "halves": np.float16([1, -2]),
        "words": np.array([b"a", b"", b"\0b\xff"], object),
    }

    def test_tensorflow_reads_headraces(self):
        headrace("write_checkpoint", self.path("c"))
        reader = tf.train.load_checkpoint(self.path("c"))
        self.assertEqual(set(reader.get_variable_to_shape_map()), set(self.VALUES))
        for name, value in self.VALUES.items():
            got = reader.get_tensor(name)
            self.assertEqual(np.shape(got), np.shape(value), name)
            if value.dtype == object:
                self.assertEqual(list(got), list(value))
            else:
                self.assertEqual(np.asarray(got).dtype, value.dtype, name)
                self.assertEqual(np.asarray(got).tobytes(), value.tobytes(), name)

    def test_headrace_reads_tensorflows(self):
        names = sorted(self.VALUES)
        tensors = [tf.constant(list(self.VALUES[n]) if self.VALUES[n].dtype == object else self.VALUES[n]) for n in names]
        tf.raw_ops.SaveV2(prefix=self.path("t"), tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors)
        lines = headrace("read_checkpoint", self.path("t"))
        self.assertEqual([line.split(" ")[0] for line in lines], names)
        for line in lines:
            name, dtype, shape, data = line.split(" ")
            value = self.VALUES[name]
            self.assertEqual([int(d) for d in shape.split(",") if d], list(np.shape(value)), name)
            if value.dtype == object:
                self.assertEqual([bytes.fromhex(d) for d in data.split(",")], list(value))
            else:
                self.assertEqual(dtype, value.dtype.name)
                self.assertEqual(bytes.fromhex(data), value.tobytes(), name)

    def test_headraces_bytes_are_tensorflows(self):
        names = sorted(self.VALUES)
        tensors = [tf.constant(list(self.VALUES[n]) if self.VALUES[n].dtype == object else self.VALUES[n]) for n in names]
        tf.raw_ops.SaveV2(prefix=self.path("t"), tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors)
        headrace("write_checkpoint", self.path("c"))
        shard = ".data-00000-of-00001"
        with open(self.path("t") + shard, "rb") as theirs, open(self.path("c") + shard, "rb") as ours:
            self.assertEqual(sorted(theirs.read()), sorted(ours.read()))  # the order of tensors is the writer's


class Events(Case):
    def test_tensorflow_reads_headraces(self):
        headrace("write_events", self.folder.name)
        (file,) = glob.glob(self.path("events.out.tfevents.*"))
        events = list(tf.compat.v1.train.summary_iterator(file))
        self.assertEqual(events[0].file_version, "brain.Event:2")
        self.assertEqual(events[1].session_log.status, 1)
        values = np.float32([i * i % 17 - 5.5 for i in range(100)])
        self.assertEqual([(v.tag, v.simple_value) for v in events[2].summary.value], [("loss", values[3]), ("accuracy", values[4])])
        histogram = events[3].summary.value[0].histo
        self.assertEqual((histogram.num, histogram.min, histogram.max), (100, values.min(), values.max()))
        self.assertEqual(histogram.sum, values.sum(dtype=np.float64))
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            summary = session.run(tf.compat.v1.summary.histogram("weights", values))
        self.assertEqual(tf.compat.v1.Summary.FromString(summary).value[0].histo, histogram)
        self.assertEqual(events[4].summary.value[0].tensor.string_val[0], b"all is well")
        self.assertEqual((events[5].step, events[5].summary.value[0].simple_value), (2**40, 0.25))
        self.assertEqual(len(events), 6)

    def test_tensorboard_shows_headraces(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        headrace("write_events", self.folder.name)
        shown = EventAccumulator(self.folder.name)
        shown.Reload()
        self.assertEqual([(e.step, e.value) for e in shown.Scalars("loss")], [(1, 3.5), (2**40, 0.25)])
        self.assertEqual(shown.Histograms("weights")[0].histogram_value.num, 100)

    def test_headrace_reads_tensorflows(self):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            writer = tf.compat.v1.summary.FileWriter(self.folder.name, tf.compat.v1.get_default_graph())
            merged = tf.compat.v1.summary.merge(
                [tf.compat.v1.summary.scalar("a", 1.25), tf.compat.v1.summary.histogram("h", [1.0, 2.0, -3.0])])
            writer.add_summary(session.run(merged), 7)
            writer.close()
        (file,) = glob.glob(self.path("events.out.tfevents.*"))
        self.assertEqual(headrace("read_events", file),
                         ["0  graph", "7 a scalar 1.25", "7 h histogram -3 2 3 7"])

    def test_headrace_reads_tensorflow_2s(self):
        with tf.summary.create_file_writer(self.folder.name).as_default():
            tf.summary.scalar("a", 1.25, 7)
            tf.summary.histogram("h", [1.0, 2.0, -3.0], 7, buckets=5)
            tf.summary.text("t", "words", 8)
            tf.summary.image("i", np.zeros([1, 2, 2, 3], np.uint8), 8)
        self.assertEqual(headrace("read_events", self.folder.name),
                         ["7 a scalar 1.25", "7 h histogram -3 2 3 5", "8 t text words", "8 i images"])

    def test_tensorboard_loads_headraces_files(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

        headrace("write_files_of_events", self.folder.name)
        files = sorted(glob.glob(self.path("events.out.tfevents.*")))
        self.assertGreater(len(files), 2)
        loaded = [list(EventFileLoader(file).Load()) for file in files]
        self.assertEqual([events[0].file_version for events in loaded], ["brain.Event:2"] * len(files))
        self.assertEqual(sum(len(events) - 1 for events in loaded), 103)
        shown = EventAccumulator(self.folder.name)
        shown.Reload()
        self.assertEqual([(e.step, e.value) for e in shown.Scalars("many")], [(i, i) for i in range(100)])
        self.assertEqual((shown.Images("picture")[0].width, shown.Images("picture")[0].height), (2, 1))
        rows = tf.make_ndarray(shown.Tensors("v2")[0].tensor_proto)
        self.assertEqual(rows.tolist(), [[-1, 0, 1], [0, 1, 0], [1, 2, 2]])
        self.assertEqual(shown.PluginTagToContent("histograms"), {"v2": b""})
        self.assertEqual(shown.Tags()["run_metadata"], ["step_1"])


class Columns(Case):
    """The same columns of TensorFlow, over the same variables: a graph of Headrace's gives what its own layers give."""

    def columns(self):
        fc = tf.feature_column
        x = fc.numeric_column("x", default_value=0.5)
        word = fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c"], num_oov_buckets=3)
        file = fc.categorical_column_with_vocabulary_file("more", "words.txt", default_value=2)
        ids = fc.categorical_column_with_identity("id", 5, default_value=1)
        bucket = fc.bucketized_column(x, [-1, 0, 0.5])
        weighted = fc.weighted_categorical_column(word, "weight")
        wide = [
            weighted,
            fc.categorical_column_with_hash_bucket("number", 7, tf.int64),
            fc.crossed_column([bucket, "more", ids], 23, 99),
            fc.numeric_column("pair", [2], normalizer_fn=lambda v: (v - 1) / 2),
        ]
        deep = [
            x,
            bucket,
            fc.indicator_column(ids),
            fc.embedding_column(word, 3, "sqrtn", max_norm=0.5),
            fc.embedding_column(weighted, 2),
            fc.indicator_column(weighted),
            fc.embedding_column(file, 2, "sum"),
        ]
        steps = [
            fc.indicator_column(fc.sequence_categorical_column_with_vocabulary_list("said", ["a", "b"])),
            fc.sequence_numeric_column("way", [2], default_value=9),
        ]
        return wide, deep, steps

    def records(self):
        random = np.random.RandomState(3)
        words = [b"a", b"b", b"c", b"d", b"", b"other"]
        some = lambda n: tf.train.Feature(bytes_list=tf.train.BytesList(value=[words[random.randint(6)] for _ in range(n)]))
        ints = lambda n, low, high: tf.train.Feature(int64_list=tf.train.Int64List(value=random.randint(low, high, n)))
        floats = lambda n: tf.train.Feature(float_list=tf.train.FloatList(value=random.randn(n)))
        records = []
        for _ in range(50):
            n, steps = random.randint(0, 4), random.randint(0, 4)
            feature = {
                "word": some(n), "weight": floats(n), "more": some(random.randint(0, 3)),
                "id": ints(random.randint(0, 3), -1, 7), "number": ints(random.randint(0, 3), -9, 9),
                "pair": floats(2), "said": some(steps), "way": floats(2 * steps - (random.randint(0, 2) if steps else 0)),
            }
            if random.randint(3):
                feature["x"] = floats(1)
            records.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
        return records

    @staticmethod
    def run_with(tables, fetches, records, values):
        """With these values of the variables, by their names; those that are new are drawn."""
        with tf.compat.v1.Session() as session:
            session.run(tables)
            for op in session.graph.get_operations():
                if op.type != "VarHandleOp":
                    continue
                shape = [d.size for d in op.get_attr("shape").dim]
                value = values.setdefault(op.name, np.float32(np.random.RandomState(len(values)).randn(*shape)))
                session.run(tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=value))
            return session.run(fetches, {"examples:0": records})

    @of_2_15
    def test_tensorflow_runs_headraces_columns(self):
        here = os.getcwd()
        os.chdir(self.folder.name)
        self.addCleanup(os.chdir, here)
        with open("words.txt", "wb") as file:
            file.write(b"b\na\n\xff\nd")
        records, values = self.records(), {}
        headrace("write_columns", "columns.pb")
        graph_def = tf.compat.v1.GraphDef()
        with open("columns.pb", "rb") as file:
            graph_def.ParseFromString(file.read())
        names = ["wide:0", "deep:0", "steps:0", "lengths:0"]
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")
            ours = self.run_with("init_all_tables", names, records, values)
        drawn = len(values)
        with tf.Graph().as_default():
            tf.compat.v1.enable_resource_variables()
            wide, deep, steps = self.columns()
            examples = tf.compat.v1.placeholder(tf.string, [None], name="examples")
            parsed = tf.io.parse_example(examples, tf.feature_column.make_parse_example_spec(wide + deep + steps))
            fetches = [
                tf.compat.v1.feature_column.linear_model(parsed, wide, units=2),
                tf.compat.v1.feature_column.input_layer(parsed, deep),
                *tf.keras.experimental.SequenceFeatures(steps)(parsed),
            ]
            theirs = self.run_with(tf.compat.v1.tables_initializer(), fetches, records, values)
        self.assertEqual(len(values), drawn)
        for name, one, other in zip(names, ours, theirs):
            np.testing.assert_allclose(one, other, 1e-5, 1e-6, err_msg=name)


class Graphs(Case):
    """A loop with a branch and a variable in it: odd numbers get one more, even ones double, until 100; and the
    derivative, which is 2 for each that doubled."""

    @staticmethod
    def expected(x):
        slope = 1
        while x < 100:
            x, slope = (x + 1, slope) if x % 2 else (x * 2, slope * 2)
        return [x, slope]

    def run_theirs(self, graph_def):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.import_graph_def(graph_def, name="")
            session.run("init")
            return [session.run(["y:0", "dy:0"], {"x:0": x}) for x in (1, 6, 7, 250)]

    def test_tensorflow_runs_headraces(self):
        for name in ("g.pb", "g.pbtxt"):
            headrace("write_graph", self.path(name))
            graph_def = tf.compat.v1.GraphDef()
            with open(self.path(name), "rb") as file:
                if name.endswith("t"):
                    from google.protobuf import text_format
                    text_format.Parse(file.read(), graph_def)
                else:
                    graph_def.ParseFromString(file.read())
            self.assertEqual(self.run_theirs(graph_def), [self.expected(x) for x in (1, 6, 7, 250)])

    def write_theirs(self, control_flow_v2):
        with tf.Graph().as_default() as graph:
            (tf.compat.v1.enable_control_flow_v2 if control_flow_v2 else tf.compat.v1.disable_control_flow_v2)()
            x = tf.compat.v1.placeholder(tf.float32, [], name="x")
            w = tf.compat.v1.get_variable("w", [], initializer=tf.compat.v1.zeros_initializer(), use_resource=True)

            def odd(v):
                with tf.control_dependencies([w.assign_add(1.0)]):
                    return v + 1

            y = tf.while_loop(lambda v: v < 100, lambda v: tf.cond(v % 2 > 0, lambda: odd(v), lambda: v * 2), [x])
            tf.identity(y, name="y")
            tf.identity(tf.gradients(y, x)[0], name="dy")
            tf.group(w.initializer, name="init")
            tf.io.write_graph(graph, self.folder.name, "t.pb", as_text=False)
            tf.io.write_graph(graph, self.folder.name, "t.pbtxt", as_text=True)

    def check_theirs(self):
        for name in ("t.pb", "t.pbtxt"):
            for x in (1, 6, 7, 250):
                y, dy = self.expected(x)
                self.assertEqual([float(v) for v in headrace("run_graph", self.path(name), x)], [y, dy, dy])

    def test_headrace_runs_tensorflows(self):
        self.write_theirs(control_flow_v2=True)
        self.check_theirs()

    def test_headrace_runs_loops_of_tensorflow_1(self):
        self.write_theirs(control_flow_v2=False)
        self.check_theirs()

    def run_headrace(self, name):
        """y, dy of the file, and dy by a gradient of our own, which is the same."""
        results = []
        for x in (1, 6):
            y, dy, own = (float(v) for v in headrace("run_graph", self.path(name), x))
            self.assertEqual(dy, own)
            results.append([y, dy])
        return results

    def test_tensorflow_runs_loops_over_rows(self):
        headrace("write_row_loops", self.path("rows.pb"))
        graph_def = tf.compat.v1.GraphDef()
        with open(self.path("rows.pb"), "rb") as file:
            graph_def.ParseFromString(file.read())
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.import_graph_def(graph_def, name="")
            for x in (1.0, 6.0):  # of the squares 1, 4, 9: 9, 94, 941
                self.assertEqual(session.run(["y:0", "dy:0"], {"x:0": x}), [1044 * x * x, 2088 * x])
        self.assertEqual(self.run_headrace("rows.pb"), [[1044, 2088], [1044 * 36, 2088 * 6]])

    def write_rows(self, control_flow_v2, make):
        with tf.Graph().as_default() as graph:
            (tf.compat.v1.enable_control_flow_v2 if control_flow_v2 else tf.compat.v1.disable_control_flow_v2)()
            x = tf.compat.v1.placeholder(tf.float32, [], name="x")
            y = tf.identity(make(x * [1.0, 2.0, 3.0]), name="y")
            tf.identity(tf.gradients(y, x)[0], name="dy")
            tf.group(name="init")
            tf.io.write_graph(graph, self.folder.name, "t.pb", as_text=False)

    def test_headrace_runs_map_fn_and_scan(self):
        def make(rows):
            squares = tf.map_fn(lambda v: v * v, rows)
            sums = tf.scan(lambda a, v: a * 10 + v, squares, reverse=True)
            return tf.reduce_sum(sums) + tf.foldl(lambda a, v: a + v, squares) + tf.foldr(lambda a, v: a * v, squares)

        self.write_rows(True, make)
        expected = [[1044 * x**2 + 14 * x**2 + 36 * x**6, 2116 * x + 216 * x**5] for x in (1, 6)]
        self.assertEqual(self.run_headrace("t.pb"), expected)

    def test_headrace_runs_tensor_arrays(self):
        def make(rows):
            array = tf.TensorArray(tf.float32, 3, clear_after_read=False).scatter([0, 1, 2], rows)
            other = tf.TensorArray(tf.float32, 2, infer_shape=False).split(rows, [1, 2])
            third = tf.TensorArray(tf.float32, 1).write(0, array.read(2))
            joined = other.concat()
            joined.set_shape([3])
            return tf.reduce_sum(array.gather([0, 1, 2]) ** 2) + tf.reduce_sum(joined * rows) + third.read(0)

        self.write_rows(False, make)
        with open(self.path("t.pb"), "rb") as file:
            self.assertIn(b"TensorArrayGradV3", file.read())
        self.assertEqual(self.run_headrace("t.pb"), [[28 * x * x + 3 * x, 56 * x + 3] for x in (1, 6)])

    def test_tensorflow_imports_headraces_meta_graph(self):
        for name in ("g.meta", "g.meta.pbtxt"):
            headrace("write_meta_graph", self.path(name))
            with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
                tf.compat.v1.train.import_meta_graph(self.path(name))
                self.assertEqual([v.name for v in tf.compat.v1.trainable_variables()], ["w:0", "b:0"])
                self.assertEqual([v.name for v in tf.compat.v1.local_variables()], ["scratch:0"])
                self.assertEqual(tf.compat.v1.train.get_global_step().name, "global_step:0")
                session.run(tf.compat.v1.global_variables_initializer())
                (y,) = graph.get_collection("my_outputs")
                self.assertEqual(session.run(y, {"x:0": [[3, 4]]}).tolist(), [[7.5]])
        meta = tf.compat.v1.MetaGraphDef()
        with open(self.path("g.meta"), "rb") as file:
            meta.ParseFromString(file.read())
        self.assertEqual(list(meta.meta_info_def.tags), ["serve"])
        self.assertEqual(meta.signature_def["serving_default"].outputs["out"].name, "y:0")
        for op in meta.meta_info_def.stripped_op_list.op:
            theirs = op_def_registry.get(op.name)
            ours, there = ([(a.name, a.type, a.default_value) for a in d.attr] for d in (op, theirs))
            if tf.__version__ != "2.15.1":
                there = [a for a in there if a in ours]  # later ones have more
            self.assertEqual(ours, there)
            self.assertEqual([a.SerializeToString() for a in op.input_arg], [without_text(a).SerializeToString() for a in theirs.input_arg])
            self.assertEqual(op.is_stateful, theirs.is_stateful)

    def test_headrace_reads_tensorflows_meta_graph(self):
        for resource in (False, True):
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
                w = tf.compat.v1.get_variable("w", [2, 1], use_resource=resource, partitioner=tf.compat.v1.fixed_size_partitioner(2))
                b = tf.compat.v1.get_variable("b", [1], trainable=False, use_resource=resource)
                y = tf.identity(tf.matmul(x, w) + b, name="y")
                session.run(tf.compat.v1.global_variables_initializer())
                prefix = tf.compat.v1.train.Saver().save(session, self.path("model"))
                wanted = session.run(y, {x: [[3, 4]]})[0][0]
            *names, got = headrace("read_meta_graph", prefix + ".meta", prefix)
            self.assertEqual(names, ["w/part_0", "w/part_1", "b"])
            self.assertAlmostEqual(float(got), float(wanted), places=5)

    def graph_def(self, name):
        read = tf.compat.v1.GraphDef()
        with open(self.path(name), "rb") as file:
            read.ParseFromString(file.read())
        return read

    def y_of(self, graph_def, x):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.import_graph_def(graph_def, name="")
            return session.run("y:0", {"x:0": x})

    def test_tensorflow_runs_what_headrace_froze(self):
        for resource in (False, True):
            with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
                x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
                w = tf.compat.v1.get_variable("w", [2, 3], use_resource=resource)
                table = tf.compat.v1.get_variable("table", [5, 3], use_resource=resource)
                tf.identity(tf.matmul(x, w) + tf.gather(table, [4, 1]), name="y")
                session.run(tf.compat.v1.global_variables_initializer())
                prefix = tf.compat.v1.train.Saver().save(session, self.path("model"))
                theirs = tf.compat.v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
            headrace("freeze_graph", prefix + ".meta", prefix, self.path("frozen.pb"))
            ours = self.graph_def("frozen.pb")
            self.assertEqual(sorted((n.name, n.op) for n in ours.node), sorted((n.name, n.op) for n in theirs.node))
            batch = [[1, 2], [-3, 0.5]]
            np.testing.assert_array_equal(self.y_of(ours, batch), self.y_of(theirs, batch))

    def test_transforms_keep_what_tensorflow_computes(self):
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, [None, 5, 5, 2], name="x")
            random = np.random.RandomState(3)
            filters = tf.constant(random.randn(3, 3, 2, 4).astype(np.float32), name="filters")
            conv = tf.nn.conv2d(x, tf.identity(filters), [1, 1, 1, 1], "SAME")
            numbers = [tf.constant(random.rand(4).astype(np.float32) + 0.1) for _ in range(4)]
            normal, _, _ = tf.compat.v1.nn.fused_batch_norm(conv, *numbers, epsilon=0.01, is_training=False)
            depthwise = tf.nn.depthwise_conv2d(normal, tf.constant(random.randn(1, 1, 4, 2).astype(np.float32)), [1, 1, 1, 1], "SAME")
            tf.nn.relu(depthwise * tf.constant(random.randn(8).astype(np.float32)), name="y")
            tf.io.write_graph(graph, self.folder.name, "g.pb", as_text=False)
        batch = random.randn(2, 5, 5, 2)
        before = self.y_of(self.graph_def("g.pb"), batch)
        transforms = "strip_unused_nodes remove_nodes(op=Identity) fold_batch_norms fold_old_batch_norms merge_duplicate_nodes sort_by_execution_order"
        headrace("transform_graph", self.path("g.pb"), transforms, self.path("t.pb"))
        after = self.graph_def("t.pb")
        self.assertEqual(sorted(n.op for n in after.node),
                         ["BiasAdd", "Const", "Const", "Const", "Conv2D", "DepthwiseConv2dNative", "Placeholder", "Relu"])
        np.testing.assert_allclose(self.y_of(after, batch), before, rtol=1e-4, atol=1e-5)
        headrace("transform_graph", self.path("t.pb"), "quantize_weights(minimum_size=1)", self.path("q.pb"))
        bytes_only = self.graph_def("q.pb")
        self.assertIn("Dequantize", [n.op for n in bytes_only.node])
        np.testing.assert_allclose(self.y_of(bytes_only, batch), before, atol=0.3)


def without_text(arg):
    kept = type(arg)()
    kept.CopyFrom(arg)
    kept.ClearField("description")
    return kept


def columns():
    fc = tf.feature_column
    sex = fc.categorical_column_with_vocabulary_list("sex", ["f", "m"])
    town = fc.categorical_column_with_hash_bucket("town", 7)
    age = fc.numeric_column("age")
    wide = [sex, town, fc.bucketized_column(age, [20, 40, 60])]
    deep = [age, fc.indicator_column(sex), fc.embedding_column(town, 3)]
    return wide, deep


class Halves(Case):
    """Ops of half and bfloat16 give what TensorFlow's do, to a unit of the last place or two."""

    UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Expm1 Floor Inv L2Loss Log Log1p
        LogSoftmax Neg OnesLike Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh Softmax Softplus
        Softsign Sqrt Square Tan Tanh ZerosLike LeakyRelu""".split()
    BINARY = """AddV2 Atan2 Div DivNoNan FloorDiv FloorMod Maximum Minimum Mul MulNoNan Pow RealDiv SquaredDifference
        Sub Xdivy Xlogy TanhGrad SigmoidGrad ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad SoftsignGrad SqrtGrad
        RsqrtGrad ReciprocalGrad LeakyReluGrad""".split()
    STEPS = ("Elu", "Selu", "MatMul", "TanhGrad", "SoftsignGrad")
    REDUCTIONS = "Sum Mean Max Min Prod EuclideanNorm".split()

    def nodes(self, dtype):
        """Name and a function that makes the node."""
        rng = np.random.default_rng(3)
        cast = lambda values: tf.cast(tf.constant(values, tf.float32), dtype)
        x, y = rng.uniform(-2, 2, (4, 6)).astype("f"), rng.uniform(.25, 2, (4, 6)).astype("f")
        special = np.float32([np.inf, -np.inf, np.nan, 0., -0., 6e4, -1e-7, 1.])
        images, filters = rng.uniform(-1, 1, (1, 5, 5, 2)).astype("f"), rng.uniform(-1, 1, (3, 3, 2, 3)).astype("f")
        raw = tf.raw_ops
        for op in self.UNARY:
            name = {"Elu": "features", "Selu": "features", "Relu": "features", "Relu6": "features", "LeakyRelu":
                    "features", "Softplus": "features", "Softsign": "features", "L2Loss": "t", "Softmax": "logits",
                    "LogSoftmax": "logits"}.get(op, "x")
            for kind, values in (("", x), ("_positive", y), ("_special", special)):
                yield op + kind, lambda op=op, name=name, v=values: getattr(raw, op)(**{name: cast(v)})
        for op in self.BINARY:
            yield op, lambda op=op: self.call(op, cast(x), cast(y))
        for op in self.REDUCTIONS:
            yield op, lambda op=op: getattr(raw, op)(input=cast(x), axis=[1])
        yield "MatMul", lambda: raw.MatMul(a=cast(x), b=cast(y), transpose_b=True)
        yield "BiasAdd", lambda: raw.BiasAdd(value=cast(x), bias=cast(y[0]))
        yield "Conv2D", lambda: raw.Conv2D(input=cast(images), filter=cast(filters), strides=[1] * 4, padding="SAME")
        for op in ("MaxPool", "AvgPool"):
            name = "input" if op == "MaxPool" else "value"
            yield op, lambda op=op, name=name: getattr(raw, op)(**{name: cast(images)}, ksize=[1, 2, 2, 1],
                                                                strides=[1, 2, 2, 1], padding="SAME")
        yield "Cumsum", lambda: raw.Cumsum(x=cast(x), axis=1)
        yield "AddN", lambda: raw.AddN(inputs=[cast(x), cast(y), cast(x)])
        yield "SegmentSum", lambda: raw.SegmentSum(data=cast(x), segment_ids=[0, 0, 1, 3])
        yield "ClipByValue", lambda: raw.ClipByValue(t=cast(x), clip_value_min=cast(-.5), clip_value_max=cast(.75))
        yield "SoftmaxCrossEntropyWithLogits", lambda: raw.SoftmaxCrossEntropyWithLogits(
            features=cast(x), labels=cast(y)).loss

    @staticmethod
    def call(op, x, y):
        from tensorflow.python.framework import op_def_registry
        names = [a.name for a in op_def_registry.get(op).input_arg]
        return getattr(tf.raw_ops, op)(**{names[0]: x, names[1]: y})

    def check(self, dtype, ulp):
        expected = {}
        for name, make in self.nodes(dtype):  # in a graph of its own, since TensorFlow lacks some
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                try:
                    expected[name] = session.run(tf.cast(make(), tf.float64)).reshape(-1)
                except (TypeError, ValueError, tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
                    pass
        with tf.Graph().as_default() as graph:
            for name, make in self.nodes(dtype):
                if name in expected:
                    tf.cast(make(), tf.float64, name="value_" + name)
            tf.io.write_graph(graph, self.folder.name, "halves.pb", as_text=False)
        self.assertGreater(len(expected), 140)
        lines = headrace("node_values", self.path("halves.pb"), ",".join(f"value_{name}:0" for name in expected))
        wrong = []
        for (name, values), line in zip(expected.items(), lines):
            try:
                ours = np.array([float(v) for v in line.split()])
                steps = ulp if name.startswith(self.STEPS) else 0  # which TensorFlow rounds between
                np.testing.assert_allclose(ours, values, rtol=2 * ulp, atol=max(ulp / 64, 2 * steps))
                zero = values == 0 if not steps else []
                np.testing.assert_array_equal(np.signbit(ours[zero]), np.signbit(values[zero]))
            except (ValueError, AssertionError) as error:
                wrong.append(f"{name}: {line}, not {values}")
        self.assertEqual(wrong, [])

    def test_halves(self):
        self.check(tf.float16, 2**-10)

    def test_bfloat16s(self):
        self.check(tf.bfloat16, 2**-7)


class SavedModels(Case):
    """Models of all kinds, saved by TensorFlow, run by Headrace; and written again, run by TensorFlow."""

    def ours(self, model, signature, inputs):
        folder = self.path("call")
        os.makedirs(folder, exist_ok=True)
        for file in glob.glob(folder + "/*"):
            os.remove(file)
        for key, value in inputs.items():
            with open(f"{folder}/in_{key.replace('/', '_').replace(':', '_')}", "wb") as f:
                f.write(tf.make_tensor_proto(value).SerializeToString())
        headrace("run_saved_model", model, signature, folder)
        outputs = {}
        for file in glob.glob(folder + "/out_*"):
            with open(file, "rb") as f:
                outputs[os.path.basename(file)[4:]] = tf.make_ndarray(tensor_pb2.TensorProto.FromString(f.read()))
        return outputs

    def assert_same(self, theirs, ours):
        self.assertEqual({k.replace("/", "_") for k in theirs}, set(ours))
        for key, value in theirs.items():
            value, got = np.asarray(value), ours[key.replace("/", "_")]
            self.assertEqual(value.shape, got.shape, key)
            if value.dtype.kind in "fc":
                np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-6, err_msg=key)
            else:
                np.testing.assert_array_equal(got, value, err_msg=key)

    def theirs(self, model, signature, inputs):
        loaded = tf.saved_model.load(model)
        found = loaded.signatures[signature](**{k: tf.constant(v) for k, v in inputs.items()})
        return {k: v.numpy() for k, v in found.items()}

    def check(self, model, signature, inputs, rewritten=("again", "inference")):
        theirs = self.theirs(model, signature, inputs)
        self.assert_same(theirs, self.ours(model, signature, inputs))
        for kind in rewritten:
            copy = f"{model}_{kind}"
            if not os.path.exists(copy):
                headrace("rewrite_saved_model", model, kind, copy)
            self.assert_same(theirs, self.ours(copy, signature, inputs))
            self.assert_same(theirs, self.theirs(copy, signature, inputs))

    @staticmethod
    def input_of(model):
        return list(tf.saved_model.load(model).signatures["serving_default"].structured_input_signature[1])

    def check_keras(self, layers, *values, rewritten=("again", "inference")):
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential(layers)
        model(values[0])
        self.check_keras_model(model, *values, rewritten=rewritten)

    def check_keras_model(self, model, *values, rewritten=("again", "inference")):
        weights = [w for w in model.weights if hasattr(w, "assign")]  # no vocabularies
        for i, w in enumerate(weights):  # moving averages that are no zeros and ones
            w.assign(w + 0.1 * (i + 1) * tf.cast(tf.abs(tf.sin(tf.range(tf.size(w), dtype=tf.float32))), w.dtype).numpy().reshape(w.shape))
        # Keras 3 saves variables twice by tf.saved_model.save: those that functions read, and those that are restored.
        ways = {"saved": tf.saved_model.save, "exported": lambda m, path: m.export(path, verbose=False)}
        if hasattr(tf, "estimator"):
            del ways["exported"]
        for way, save in ways.items():
            path = tempfile.mkdtemp(way, dir=self.folder.name)
            save(model, path)
            (key,) = self.input_of(path)
            shape = tf.saved_model.load(path).signatures["serving_default"].structured_input_signature[1][key].shape
            for i, value in enumerate(values):
                if shape.is_compatible_with(value.shape):
                    self.check(path, "serving_default", {key: value}, rewritten if i == 0 else ())

    def test_keras_dense(self):
        layers = tf.keras.layers
        self.check_keras([layers.Dense(8, "relu"), layers.Dropout(0.5), layers.BatchNormalization(), layers.Dense(3, "softmax")],
                         np.float32([[1, 2, 3], [-1, 0.5, 2]]), np.float32([[0, 0, 1]]))

    def test_keras_embeddings(self):
        layers = tf.keras.layers
        self.check_keras([layers.InputLayer([None], dtype=tf.int64), layers.Embedding(20, 4), layers.GlobalAveragePooling1D(), layers.LayerNormalization(),
                          layers.Dense(2, "tanh")], np.int64([[1, 2, 3], [4, 5, 19]]))

    def test_keras_convolutions(self):
        layers = tf.keras.layers
        self.check_keras([layers.Conv2D(4, 3, activation="relu"), layers.MaxPool2D(), layers.DepthwiseConv2D(2, padding="same"),
                          layers.BatchNormalization(), layers.GlobalMaxPool2D(), layers.Dense(5, "sigmoid")],
                         np.random.RandomState(1).rand(2, 12, 12, 3).astype(np.float32))

    def test_keras_recurrent(self):
        layers = tf.keras.layers
        # The loops of Keras 3 read variables in them.
        self.check_keras([layers.LSTM(4, return_sequences=True), layers.GRU(3), layers.Dense(1)],
                         np.random.RandomState(2).rand(2, 5, 3).astype(np.float32))

    def test_variables_in_loops_and_branches(self):
        class Module(tf.Module):
            def __init__(self):
                self.w = tf.Variable([[1.0, -0.5], [0.5, 0.25]])
                self.table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
                self.bias = tf.Variable([0.5, -2.0])

            @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([], tf.int32)])
            def run(self, x, steps):
                for i in tf.range(steps):
                    x = tf.matmul(x, self.w) + tf.gather(self.table, i % 3)
                    if tf.reduce_sum(x) > 10.0:
                        for _ in tf.range(2):
                            x = x * 0.5 + self.bias
                    else:
                        x = x + tf.switch_case(i, [lambda: self.bias, lambda: self.table[1], lambda: self.bias * 2.0])
                return {"x": x}

        module, path = Module(), self.path("looping")
        tf.saved_model.save(module, path, {"serving_default": module.run})
        for steps in (0, 1, 5):
            self.check(path, "serving_default", {"x": np.float32([[1, 2], [-1, 0.5]]), "steps": np.int32(steps)},
                       ("again", "frozen", "inference"))

    def test_keras_preprocessing(self):
        layers = tf.keras.layers
        numbers = np.random.RandomState(3).rand(6, 3).astype(np.float32)
        scale = layers.Normalization()
        scale.adapt(numbers)
        self.check_keras([layers.InputLayer([3]), scale, layers.Dense(2)], numbers)
        texts = np.array([["the cat sat"], ["the dog"], [""], ["an owl, the owl"]], object)
        words = layers.TextVectorization(max_tokens=20, output_sequence_length=4)
        pairs = layers.TextVectorization(max_tokens=20, ngrams=2, output_sequence_length=4)
        letters = layers.TextVectorization(max_tokens=20, split="character", output_sequence_length=4)
        for layer in (words, pairs, letters):
            layer.adapt(texts.astype(str))
        for layer in (words, pairs, letters, layers.StringLookup(vocabulary=["the cat sat", "the dog"])):
            text = tf.keras.Input([1], dtype=tf.string)
            mean = layers.GlobalAveragePooling1D()(layers.Embedding(20, 2)(layer(text)))
            self.check_keras_model(tf.keras.Model(text, mean), texts)

    def test_modules_with_tables_and_captured_variables(self):
        vocabulary = self.path("animals.txt")
        with open(vocabulary, "w") as f:
            f.write("cat\ndog\nowl\n")

        class Module(tf.Module):
            def __init__(self):
                self.w = tf.Variable([[1.0, -2.0], [0.5, 3.0]])
                self.steps = tf.Variable(7, dtype=tf.int64)
                self.words = tf.lookup.StaticVocabularyTable(
                    tf.lookup.TextFileInitializer(vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                                  tf.lookup.TextFileIndex.LINE_NUMBER), 2)
                self.names = tf.lookup.StaticHashTable(
                    tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1], tf.int64), tf.constant(["zero", "one"])), "many")

            @tf.function(input_signature=[tf.TensorSpec([None, 2])])
            def product(self, x):
                return {"y": tf.nn.relu(tf.matmul(x, self.w)), "steps": self.steps.read_value()}

            @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
            def find(self, words):
                ids = self.words.lookup(words)
                return {"ids": ids, "names": self.names.lookup(ids)}

            @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([])])
            def power(self, n, x):
                y = tf.constant(1.0)
                for _ in tf.range(n):
                    y = y * x if y < 100.0 else y + x
                return {"power": y}

        module, path = Module(), self.path("module")
        tf.saved_model.save(module, path, {"serving_default": module.product, "find": module.find, "power": module.power})
        os.remove(vocabulary)
        self.check(path, "serving_default", {"x": np.float32([[1, 2], [-1, 0.5]])})
        self.check(path, "find", {"words": np.array([b"dog", b"eel", b"cat"], object)})
        self.check(path, "power", {"n": np.int32(9), "x": np.float32(2)})

    def test_builders_of_tensorflow_1(self):
        vocabulary = self.path("words.txt")
        with open(vocabulary, "w") as f:
            f.write("a\nb\n")
        for resource in (False, True):
            path = self.path(f"builder_{resource}")
            with tf.Graph().as_default(), tf.compat.v1.Session() as s:
                v1 = tf.compat.v1
                x = v1.placeholder(tf.float32, [None, 3], "x")
                w = v1.get_variable("w", [4, 2], use_resource=resource, partitioner=tf.compat.v1.fixed_size_partitioner(2),
                                    initializer=v1.random_normal_initializer(seed=1))
                table = tf.lookup.StaticHashTable(
                    tf.lookup.TextFileInitializer(vocabulary, tf.string, 0, tf.int64, -1, delimiter=" "), -1)
                words = v1.placeholder(tf.string, [None], "words")
                y = tf.matmul(tf.concat([x, tf.cast(table.lookup(words)[:, None], tf.float32)], 1), w)
                s.run([v1.global_variables_initializer(), v1.tables_initializer()])
                builder = v1.saved_model.Builder(path)
                signature = v1.saved_model.predict_signature_def({"x": x, "words": words}, {"y": y})
                builder.add_meta_graph_and_variables(
                    s, ["serve"], {"serving_default": signature}, main_op=v1.tables_initializer(),
                    assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS), strip_default_attrs=not resource)
                builder.save(as_text=resource)
            self.check(path, "serving_default", {"x": np.float32([[1, 2, 3], [0, 1, 0]]), "words": np.array([b"b", b"z"], object)})

    def test_estimators_of_headrace(self):
        rows = self.path("rows")
        headrace("write_rows", rows)
        wide, deep = columns()
        for kind in ("linear", "dnn", "combined"):
            model = self.path(kind)
            headrace("train", kind, rows, model, 20)
            (served,) = headrace("export_estimator", kind, model, self.path("exports"), "parsing")
            requests = []
            for file in sorted(glob.glob(rows + "/*.tfrecord")):
                requests += [r.numpy() for r in tf.data.TFRecordDataset(file)]
            requests = np.array(requests, object)
            for signature, key in (("serving_default", "inputs"), ("regression", "inputs"), ("predict", "examples")):
                self.check(served, signature, {key: requests}, ("frozen",) if signature == "predict" else ())
            if kind != "combined":
                continue
            (raw,) = headrace("export_estimator", kind, model, self.path("exports"), "raw")
            self.check(raw, "predict", {"age": np.float32([[20], [70]]), "sex": np.array([[b"f"], [b"m"]], object),
                                        "town": np.array([[b"Ulm", b""], [b"Kiel", b"Bonn"]], object)})

    @of_2_15
    def test_estimators_of_tensorflow(self):
        spec = {"age": tf.io.FixedLenFeature([1], tf.float32), "sex": tf.io.VarLenFeature(tf.string),
                "town": tf.io.VarLenFeature(tf.string)}
        rows = self.path("rows")
        headrace("write_rows", rows)
        requests = np.array([r.numpy() for r in tf.data.TFRecordDataset(sorted(glob.glob(rows + "/*.tfrecord"))).take(20)], object)
        wide, deep = columns()

        def input_fn():
            full = {**spec, "label": tf.io.FixedLenFeature([1], tf.int64)}
            ds = tf.data.TFRecordDataset(sorted(glob.glob(rows + "/*.tfrecord"))).batch(20)
            return ds.map(lambda r: (lambda f: (f, f.pop("label")))(tf.io.parse_example(r, full)))

        estimators = {
            "linear": lambda d: tf.estimator.LinearClassifier(wide, d),
            "dnn": lambda d: tf.estimator.DNNRegressor([4], deep, d, batch_norm=True),
            "both": lambda d: tf.estimator.DNNLinearCombinedClassifier(
                d, linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[4]),
            "baseline": lambda d: tf.compat.v1.estimator.BaselineClassifier(d),
        }
        for name, make in estimators.items():
            estimator = make(self.path("trained_" + name))
            estimator.train(input_fn, steps=3)
            receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
            path = estimator.export_saved_model(self.path("exported_" + name), receiver).decode()
            for signature in tf.saved_model.load(path).signatures:
                key = "examples" if signature == "predict" else "inputs"
                self.check(path, signature, {key: requests}, ("again", "inference") if signature == "predict" else ())


@of_2_15
class Estimators(Case):
    def setUp(self):
        super().setUp()
        self.rows = self.path("rows")
        headrace("write_rows", self.rows)

    def input_fn(self, repeat=1):
        spec = {
            "age": tf.io.FixedLenFeature([1], tf.float32),
            "sex": tf.io.VarLenFeature(tf.string),
            "town": tf.io.VarLenFeature(tf.string),
            "label": tf.io.FixedLenFeature([1], tf.int64),
        }

        def split(features):
            label = features.pop("label")
            return features, label

        files = tf.data.Dataset.list_files(self.rows + "/*.tfrecord", shuffle=False)
        ds = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=None)
        return ds.repeat(repeat).batch(50).map(lambda r: split(tf.io.parse_example(r, spec)))

    def estimator(self, kind, folder):
        wide, deep = columns()
        config = tf.estimator.RunConfig(tf_random_seed=1)
        adagrad = tf.keras.optimizers.legacy.Adagrad(0.05)
        if kind == "linear":
            return tf.estimator.LinearClassifier(wide, folder, config=config)
        if kind == "dnn":
            return tf.estimator.DNNClassifier([8, 4], deep, folder, optimizer=adagrad, config=config)
        return tf.estimator.DNNLinearCombinedClassifier(
            folder, linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[8, 4], dnn_optimizer=adagrad,
            config=config)

    def shapes(self, folder):
        return {n: tuple(s) for n, s in tf.train.list_variables(folder) if not n.startswith("headrace/")}

    def assert_same_results(self, theirs, ours):
        self.assertEqual(set(theirs), set(ours))
        for name, value in theirs.items():
            self.assertAlmostEqual(float(value), ours[name], delta=2e-5, msg=name)

    def both_ways(self, kind):
        ours, theirs = self.path("headrace"), self.path("tensorflow")
        headrace("train", kind, self.rows, ours, 40)
        estimator = self.estimator(kind, theirs)
        estimator.train(lambda: self.input_fn(-1), steps=10)
        self.assertEqual(self.shapes(ours), self.shapes(theirs))

        # TensorFlow's estimator on what Headrace trained, and the other way round.
        evaluated = self.estimator(kind, ours).evaluate(self.input_fn)
        self.assertGreater(evaluated["auc"], 0.6)
        self.assert_same_results(evaluated, self.results(kind, ours))
        self.assert_same_results(estimator.evaluate(self.input_fn), self.results(kind, theirs))

        # Each goes on from the other's checkpoint.
        self.assertEqual(headrace("train", kind, self.rows, theirs, 3), ["10 13 1"])
        estimator = self.estimator(kind, ours)
        estimator.train(lambda: self.input_fn(-1), steps=2)
        self.assertEqual(estimator.get_variable_value("global_step"), 42)

    def results(self, kind, folder):
        lines = headrace("evaluate", kind, self.rows, folder)
        return {name: float(value) for name, value in (line.split(" ") for line in lines)}

    def test_linear_classifier(self):
        self.both_ways("linear")

    def test_dnn_classifier(self):
        self.both_ways("dnn")

    def test_combined_classifier(self):
        self.both_ways("combined")


@of_2_15
class Callbacks(Case):
    """What the callbacks of a training leave: the same as Keras's, of the same training."""

    def setUp(self):
        super().setUp()
        self.ours, self.theirs = self.path("ours"), self.path("theirs")
        for folder in (self.ours, self.theirs):
            os.mkdir(folder)
        headrace("fit_model", self.ours)
        self.fit(self.theirs)

    def model(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, name="d", input_shape=[1])])
        model.compile(tf.keras.optimizers.SGD(0.02), "mse", ["mae"])
        return model

    def fit(self, folder):
        x = np.array([-1, 0, 1, 2, 3, 4], np.float32)
        callbacks = tf.keras.callbacks
        model = self.model()
        model.set_weights([np.array([[0.5]]), np.array([0.0])])
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            model.fit(
                x, 2 * x - 1, epochs=3, batch_size=2, shuffle=False, validation_data=(x, 2 * x - 1), verbose=2,
                # Keras leaves batches out where nobody else looks at them.
                callbacks=[callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None),
                           callbacks.TensorBoard(folder + "/logs", histogram_freq=1, update_freq=2),
                           callbacks.ReduceLROnPlateau("val_loss", min_delta=9, patience=1),
                           callbacks.CSVLogger(folder + "/log.csv"),
                           callbacks.ModelCheckpoint(folder + "/w-{epoch:02d}-{val_loss:.3f}", save_weights_only=True),
                           callbacks.ModelCheckpoint(folder + "/best", save_weights_only=True, save_best_only=True)])
        with open(folder + "/bar", "w") as file:
            file.write(text.getvalue())

    def both(self, name):
        texts = []
        for folder in (self.ours, self.theirs):
            with open(os.path.join(folder, name), newline="") as file:
                texts.append(file.read())
        return texts

    def test_tensorboard_loads_the_same(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        for run in "train", "validation":
            ours, theirs = (EventAccumulator(f"{folder}/logs/{run}", {"tensors": 0}) for folder in (self.ours, self.theirs))
            ours.Reload(), theirs.Reload()
            wanted = [tag for tag in theirs.Tags()["tensors"] if tag != "keras"]  # the model as JSON
            self.assertEqual(sorted(ours.Tags()["tensors"]), sorted(wanted))
            self.assertEqual(ours.Tags()["graph"], theirs.Tags()["graph"])
            for plugin in ("scalars", "histograms") if run == "train" else ("scalars",):
                self.assertEqual(ours.PluginTagToContent(plugin), theirs.PluginTagToContent(plugin))
            for tag in wanted:
                self.assertEqual([e.step for e in ours.Tensors(tag)], [e.step for e in theirs.Tensors(tag)], tag)
                for a, b in zip(ours.Tensors(tag), theirs.Tensors(tag)):
                    np.testing.assert_allclose(tf.make_ndarray(a.tensor_proto), tf.make_ndarray(b.tensor_proto), 1e-5, 1e-6)

    def test_the_log_has_the_same_text(self):
        ours, theirs = ([line.split(",") for line in text.split("\r\n")] for text in self.both("log.csv"))
        self.assertEqual(ours[0], theirs[0])
        self.assertEqual(len(ours), len(theirs))
        for a, b in zip(ours[1:-1], theirs[1:-1]):
            self.assertEqual(a[0], b[0])
            self.assertEqual(a[theirs[0].index("lr")], b[theirs[0].index("lr")])
            np.testing.assert_allclose([float(v) for v in a], [float(v) for v in b], 1e-5)

    def test_the_bar_has_the_same_text(self):
        ours, theirs = (re.sub(r"\d+(s|ms|us)\b", "TIME", text) for text in self.both("bar"))
        self.assertEqual(ours, theirs)

    def test_keras_loads_the_files_of_weights(self):
        names = [sorted(os.path.basename(f) for f in glob.glob(folder + "/*.index")) for folder in (self.ours, self.theirs)]
        self.assertEqual(*names)
        for name in names[0]:
            ours, theirs = self.model(), self.model()
            ours.load_weights(f"{self.ours}/{name[:-6]}").assert_existing_objects_matched()
            theirs.load_weights(f"{self.theirs}/{name[:-6]}")
            for a, b in zip(ours.get_weights(), theirs.get_weights()):
                np.testing.assert_allclose(a, b, 1e-5)


if __name__ == "__main__":
    unittest.main()
