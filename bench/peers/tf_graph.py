"""TensorFlow's graph executor: a chain of scalar adds, a loop of trivial steps, a GraphDef of 10,000 nodes."""
from common import *
import numpy as np
import tensorflow as tf
tf1 = tf.compat.v1
V = "tensorflow " + tf.__version__
NODES, RUNS, STEPS, FILE_NODES = 1000, 100, 100000, 10000
off = tf1.ConfigProto(graph_options=tf1.GraphOptions(optimizer_options=tf1.OptimizerOptions(opt_level=-1), rewrite_options={"disable_meta_optimizer": True}))
def chain(inter_op):
    """Runs of the chain; inter_op -1: in the calling thread."""
    g = tf.Graph()
    with g.as_default():
        x = tf1.placeholder(tf.float32, []); one = tf.constant(1.0); y = x
        for _ in range(NODES): y = y + one
    off.inter_op_parallelism_threads = inter_op
    run = tf1.Session(graph=g, config=off).make_callable(y, [x])
    def fn():
        for _ in range(RUNS):
            if run(0.0) != NODES: raise AssertionError
        return NODES * RUNS
    return fn
def loop(inter_op):
    g = tf.Graph()
    with g.as_default(): (y,) = tf.while_loop(lambda v: v < STEPS, lambda v: [v + 1], [tf.constant(0.0)])
    off.inter_op_parallelism_threads = inter_op
    run = tf1.Session(graph=g, config=off).make_callable(y)
    def fn():
        if run() != STEPS: raise AssertionError
        return STEPS
    return fn
def fused(threads):
    """Five element-wise ops on 64 MiB, with the default optimizer."""
    g = tf.Graph()
    with g.as_default():
        x = tf1.placeholder(tf.float32, [1 << 24]); y = tf.square(tf.nn.relu(x * 0.5 + 1.0)) - 2.0
    run = tf1.Session(graph=g, config=tf1.ConfigProto(intra_op_parallelism_threads=threads)).make_callable(y, [x])
    values = (np.arange(1 << 24) % 7).astype(np.float32)
    def fn():
        for _ in range(5):
            if run(values)[0] != -1: raise AssertionError
        return 5 << 24
    return fn
def runs(cores):
    """Four threads that share a session and so many processors."""
    import threading
    g = tf.Graph()
    with g.as_default():
        def layer(rows): return tf.constant(((np.arange(rows * 256) % 3) / 64).astype(np.float32).reshape(rows, 256))
        y = layer(64)
        for _ in range(3): y = tf.nn.relu(tf.matmul(y, layer(256)))
        y = tf.reduce_sum(y)
    off.inter_op_parallelism_threads, off.intra_op_parallelism_threads = -1, 1
    run = tf1.Session(graph=g, config=off).make_callable(y)
    def often(core):
        os.sched_setaffinity(0, {core})
        for _ in range(100): run()
    def fn():
        all_ = [threading.Thread(target=often, args=(i % cores,)) for i in range(4)]
        for t in all_: t.start()
        for t in all_: t.join()
        return 400
    return fn
def read():
    g = tf.Graph()
    with g.as_default():
        y = tf1.placeholder(tf.float32, [None, 16]); one = tf.constant(1.0)
        for _ in range(2, FILE_NODES): y = tf.raw_ops.AddV2(x=y, y=one, name="a_layer_of_a_model/with_a_long_name/Add")
    data = g.as_graph_def().SerializeToString()
    def fn():
        d = tf1.GraphDef(); d.ParseFromString(data)
        with tf.Graph().as_default(): tf.import_graph_def(d, name="")
        return FILE_NODES
    return fn
report(V, "graph_nodes", chain(-1)); report(V, "graph_while", loop(-1)); report(V, "graph_import", read())
report(V, "graph_runs", runs(1)); report(V, "graph_runs_2_threads", runs(2))
report(V, "graph_fused", fused(1)); report(V, "graph_fused_2_threads", fused(2))
report(V, "graph_nodes_pool", chain(0)); report(V, "graph_while_pool", loop(0))
