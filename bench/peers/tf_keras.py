"""Keras models trained by fit on rows in memory: the works fit_*. Argument: threads."""
from common import *
import numpy as np
import tensorflow as tf
V = "tensorflow " + tf.__version__
threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.threading.set_inter_op_parallelism_threads(threads)
rng = np.random.default_rng(1)
L = tf.keras.layers
def work(name, layers, shape, classes, batch):
    x = rng.uniform(0, 1, shape).astype(np.float32); y = rng.integers(0, classes, shape[0])
    m = tf.keras.Sequential(layers)
    m.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"])
    def fn():
        m.fit(x, y, batch_size=batch, verbose=0)
        return shape[0]
    fn()
    report(V, name, fn)
work("fit_mlp", [L.Dense(128, activation="relu"), L.Dense(10)], (19200, 784), 10, 32)
work("fit_cnn", [L.Conv2D(32, 3, activation="relu"), L.MaxPooling2D(), L.Conv2D(64, 3, activation="relu"), L.MaxPooling2D(), L.Flatten(), L.Dense(128, activation="relu"), L.Dense(10)], (1280, 28, 28, 1), 10, 128)
work("fit_lstm", [L.LSTM(128), L.Dense(10)], (1280, 28, 28), 10, 64)
