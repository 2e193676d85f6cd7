"""Models between Headrace and a real Keras 2.15, both ways. interop_models.py PROGRAM: the program is models.c's.

Each side loads what the other one has saved, weights and SavedModels, predicts the same, and goes on with equal losses."""
import os
import subprocess
import sys
import tempfile
import unittest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROWS = 12
keras = tf.keras
layers = tf.keras.layers


def plain():
    return keras.Sequential([layers.Input((3,)), layers.Dense(5, "tanh"), layers.BatchNormalization(),
                             layers.Dropout(0), layers.Dense(1)])


def branches():
    base = keras.Sequential([layers.Input((3,)), layers.Dense(3, "relu"), layers.BatchNormalization(),
                             layers.Dense(2)], name="base")
    shared = layers.Dense(4, "tanh")
    p, q = keras.Input((3,), name="p"), keras.Input((3,), name="q")
    both = layers.Concatenate()([shared(p), shared(q), base(p)])
    return keras.Model([p, q], layers.Dense(1)(both))


def words():
    return keras.Sequential([layers.Input((4,), dtype="int32"), layers.Embedding(5, 3),
                             layers.Bidirectional(layers.LSTM(2, return_sequences=True)),
                             layers.TimeDistributed(layers.Dense(2)), layers.GRU(2), layers.Dense(1)])


def cells():
    return keras.Sequential([layers.Input((4,), dtype="int32"), layers.Embedding(5, 3, mask_zero=True),
                             layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True),
                             layers.Bidirectional(layers.RNN([layers.SimpleRNNCell(2), layers.LSTMCell(2)],
                                                             return_sequences=True)),
                             layers.RNN(layers.LSTMCell(2), return_sequences=True, go_backwards=True),
                             layers.RNN([layers.GRUCell(2, reset_after=False)], go_backwards=True), layers.Dense(1)])


def image():
    return keras.Sequential([layers.Input((5, 4, 2)), layers.Conv2D(3, 2, activation="relu", kernel_regularizer=L2),
                             layers.MaxPooling2D(), layers.Flatten(), layers.Dense(1)])


def frames():
    frame = keras.Sequential([layers.Input((2,)), layers.Dense(3, "tanh"), layers.BatchNormalization(),
                              layers.Dense(2), layers.BatchNormalization()])
    return keras.Sequential([layers.Input((3, 2)), layers.TimeDistributed(frame), layers.Flatten(), layers.Dense(1)])


def transfer():
    base = keras.Sequential([layers.Input((3,)), layers.Dense(4, "tanh"), layers.BatchNormalization(),
                             layers.Dense(3, "relu", name="cut"), layers.Dense(2, "softmax")])
    base.trainable = False
    head = layers.Dense(2, "tanh")(base.get_layer("cut").output)
    return keras.Model(base.input, layers.Dense(1)(head))


L2 = keras.regularizers.L2(0.1)


def optimizer(name):
    of = keras.optimizers
    if name.startswith("legacy_"):
        of, name = of.legacy, name[len("legacy_"):]
    classes = {c.lower(): c for c in dir(of)}
    return getattr(of, classes[name])(learning_rate=0.02)


def data(model):
    def numbers(shape, salt, whole=False):
        all_rows = np.array([[(i * 7 + j * 3 + salt) % 11 for j in range(np.prod(shape))] for i in range(ROWS)])
        all_rows = all_rows.reshape(ROWS, *shape)
        return (all_rows % 5).astype("int32") if whole else ((all_rows - 5) / 5).astype("float32")
    x = [numbers(i.shape[1:], n, i.dtype == tf.int32) for n, i in enumerate(model.inputs)]
    return x, numbers([1], 9)


class Models(unittest.TestCase):
    def headrace(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        self.assertEqual(done.stderr, "", arguments)  # no warning either
        numbers = [float(line) for line in done.stdout.split()]
        return numbers[:ROWS], numbers[ROWS:]

    def made(self, make, name):
        keras.utils.set_random_seed(1)
        model = make()
        model.compile(optimizer(name), "mse")
        return model, *data(model)

    def fit(self, model, x, y):
        model.run_eagerly = True  # to trace the graph takes longer than these steps
        return model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]

    def check(self, make, name):
        folder = tempfile.mkdtemp()
        ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")

        predictions, losses = self.headrace("save", make.__name__, name, ours)
        model, x, y = self.made(make, name)
        model.load_weights(ours).assert_existing_objects_matched()
        np.testing.assert_allclose(model.predict(x, verbose=0)[:, 0], predictions, atol=1e-5)
        np.testing.assert_allclose(self.fit(model, x, y), losses, rtol=1e-4)
        self.assertEqual(tf.train.latest_checkpoint(folder), ours)
        self.check_saved_model(make, name, ours, x, y, predictions)

        model, x, y = self.made(make, name)
        self.fit(model, x, y)
        model.save_weights(theirs)
        model.save(theirs + ".saved", save_format="tf")
        expected = model.predict(x, verbose=0)[:, 0]
        expected_losses = self.fit(model, x, y)
        for path in [theirs, theirs + ".saved"]:
            predictions, losses = self.headrace("load", make.__name__, name, path)
            np.testing.assert_allclose(expected, predictions, atol=1e-5)
            np.testing.assert_allclose(expected_losses, losses, rtol=1e-4)
        predictions, _ = self.headrace("serve", make.__name__, name, theirs + ".saved")
        np.testing.assert_allclose(expected, predictions, atol=1e-5)

    def check_saved_model(self, make, name, ours, x, y, predictions):
        folder = ours + ".saved"
        loaded = tf.saved_model.load(folder)
        serve = loaded.signatures["serving_default"]
        names = sorted(serve.structured_input_signature[1])
        (result,) = serve(**{name: tf.constant(of) for name, of in zip(names, x)}).values()
        np.testing.assert_allclose(result.numpy()[:, 0], predictions, atol=1e-5)
        own = x if len(x) > 1 else x[0]
        np.testing.assert_allclose(loaded(own).numpy()[:, 0], predictions, atol=1e-5)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.compat.v1.saved_model.load(session, ["serve"], folder)
            feeds = {f"serving_default_{name}:0": of for name, of in zip(names, x)}
            np.testing.assert_allclose(session.run("StatefulPartitionedCall:0", feeds)[:, 0], predictions, atol=1e-5)

        # Keras makes layers of it, and trains it as it trains its own.
        model, _, _ = self.made(make, name)
        model.load_weights(folder).expect_partial()
        revived = keras.models.load_model(folder, compile=False)
        np.testing.assert_allclose(revived.predict(own, verbose=0)[:, 0], predictions, atol=1e-5)
        kinds = [[of.name.rstrip("_0123456789") for of in m.layers] for m in [revived, model]]
        self.assertEqual(*kinds)
        shapes = [sorted(str(of.shape) for of in m.weights) for m in [revived, model]]
        self.assertEqual(*shapes)
        self.assertEqual(len(revived.trainable_weights), len(model.trainable_weights))
        for of in [model, revived]:
            of.compile(optimizer(name), "mse")
        np.testing.assert_allclose(revived.evaluate(own, y, verbose=0), model.evaluate(x, y, verbose=0), rtol=1e-4)
        np.testing.assert_allclose(self.fit(revived, own, y), self.fit(model, x, y), rtol=1e-4)

    def test_plain(self):
        for name in ["adam", "legacy_adam"]:
            with self.subTest(name):
                self.check(plain, name)

    def test_branches(self):
        for name in ["rmsprop", "legacy_sgd"]:
            with self.subTest(name):
                self.check(branches, name)

    def test_words(self):
        for name in ["adam"]:
            with self.subTest(name):
                self.check(words, name)

    def test_cells(self):
        for name in ["adam"]:
            with self.subTest(name):
                self.check(cells, name)

    def test_image(self):
        for name in ["sgd"]:
            with self.subTest(name):
                self.check(image, name)

    def test_frames(self):
        for name in ["adam"]:
            with self.subTest(name):
                self.check(frames, name)

    def test_transfer(self):
        for name in ["adam", "legacy_adam"]:
            with self.subTest(name):
                self.check(transfer, name)

    def test_a_file_without_an_optimizer(self):
        path = os.path.join(tempfile.mkdtemp(), "w")
        keras.utils.set_random_seed(2)
        model = plain()
        model.save_weights(path)
        predictions, _ = self.headrace("load", "plain", "adam", path)
        np.testing.assert_allclose(model.predict(data(model)[0], verbose=0)[:, 0], predictions, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
