"""Single ops, each a traced function on tensors: products, convolutions, what streams through memory, losses. Argument: threads."""
from common import *
import numpy as np
import tensorflow as tf
V = "tensorflow " + tf.__version__
threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(1)
def floats(*shape): return tf.constant(rng.uniform(-1, 1, shape).astype(np.float32))
def work(name, f, *inputs, runs):
    """Calls of a traced function, whose result is dropped."""
    g = tf.function(f)
    def fn():
        for _ in range(runs): y = g(*inputs)
        (y[0] if isinstance(y, (list, tuple)) else y)._numpy()
        return runs
    g(*inputs)
    report(V, name + ("_2_threads" if threads == 2 else ""), fn)
for (m, k, n), runs in (((512, 429, 256), 200), ((512, 256, 128), 500), ((1024, 1024, 1024), 10)):
    work(f"op_matmul_{m}_{k}_{n}" if m != 1024 else "op_matmul_1024", tf.matmul, floats(m, k), floats(k, n), runs=runs)
x, w, dy = floats(64, 28, 28, 32), floats(3, 3, 32, 64), floats(64, 28, 28, 64)
raw = tf.raw_ops
work("op_conv2d", lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), x, w, runs=5)
work("op_conv2d_input", lambda w, dy: raw.Conv2DBackpropInput(input_sizes=[64, 28, 28, 32], filter=w, out_backprop=dy, strides=[1] * 4, padding="SAME"), w, dy, runs=5)
work("op_conv2d_filter", lambda x, dy: raw.Conv2DBackpropFilter(input=x, filter_sizes=[3, 3, 32, 64], out_backprop=dy, strides=[1] * 4, padding="SAME"), x, dy, runs=5)
x = floats(64, 64, 64, 64)
work("op_batch_norm", lambda x, s, o: raw.FusedBatchNormV3(x=x, scale=s, offset=o, mean=[], variance=[])[0], x, floats(64), floats(64), runs=5)
x = floats(4096, 4096)
work("op_reduce_rows", lambda x: tf.reduce_sum(x, 1), x, runs=5)
work("op_reduce_columns", lambda x: tf.reduce_sum(x, 0), x, runs=5)
work("op_reduce_mean", tf.reduce_mean, x, runs=5)
work("op_broadcast_row", tf.add, x, floats(4096), runs=5)
work("op_broadcast_column", tf.multiply, x, floats(4096, 1), runs=5)
work("op_transpose", tf.transpose, x, runs=5)
z, labels = floats(512, 1000), floats(512, 1000)
ids = tf.constant(rng.integers(0, 1000, 512))
def with_gradient(loss): return lambda z, y: tf.gradients(loss(z, y), z)[0]
work("op_softmax_loss", with_gradient(lambda z, y: tf.nn.sparse_softmax_cross_entropy_with_logits(y, z)), z, ids, runs=50)
work("op_softmax_dense_loss", with_gradient(lambda z, y: tf.nn.softmax_cross_entropy_with_logits(y, z)), z, labels, runs=50)
work("op_sigmoid_loss", with_gradient(lambda z, y: tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, z))), z, labels, runs=50)
