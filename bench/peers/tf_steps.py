"""Steps of training, each a traced function: sparse gradients applied to tables, a LeNet, an LSTM. Argument: threads."""
from common import *
import numpy as np
import tensorflow as tf
V = "tensorflow " + tf.__version__
threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.threading.set_inter_op_parallelism_threads(threads)
rng = np.random.default_rng(1)
def floats(*shape): return tf.constant(rng.uniform(-1, 1, shape).astype(np.float32))
def work(name, step, runs, rows):
    g = tf.function(step)
    def fn():
        for _ in range(runs): y = g()
        if y is not None: y.numpy()
        return runs * rows
    g()
    report(V, name + ("_2_threads" if threads == 2 else ""), fn)
TABLES, ROWS, WIDTH, TOUCHED = 26, 10000, 16, 512
def tables(name, optimizer, runs, rows):
    vs = [tf.Variable(floats(ROWS, WIDTH)) for _ in range(TABLES)]
    gs = [tf.IndexedSlices(floats(TOUCHED, WIDTH), tf.constant(rng.integers(0, ROWS, TOUCHED)), tf.constant([ROWS, WIDTH])) for _ in range(TABLES)]
    def step(): optimizer.apply_gradients(zip(gs, vs)); return vs[0][0, 0]
    work(name, step, runs, rows)
O = tf.keras.optimizers.legacy
tables("step_adagrad", O.Adagrad(0.01), 50, TABLES * TOUCHED)
tables("step_ftrl", O.Ftrl(0.01), 50, TABLES * TOUCHED)
tables("step_adam", O.Adam(0.01), 5, TABLES * ROWS)
def model(layers, x, y, name, runs):
    net = tf.keras.Sequential(layers); net(x); sgd = O.SGD(0.01)
    def step():
        with tf.GradientTape() as tape:
            out = net(x, training=True)
            loss = tf.reduce_mean(tf.square(out)) if y is None else tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, out))
        sgd.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables)); return loss
    work(name, step, runs, 1)
L = tf.keras.layers
model([L.Conv2D(32, 5, padding="same", activation="relu"), L.MaxPool2D(), L.Conv2D(64, 5, padding="same", activation="relu"), L.MaxPool2D(), L.Flatten(), L.Dense(512, activation="relu"), L.Dense(10)],
      floats(128, 28, 28, 1), tf.constant(rng.integers(0, 10, 128)), "step_lenet", 3)
model([L.LSTM(128)], floats(64, 50, 128), None, "step_lstm", 5)
