"""TensorFlow on census-like records: parse_example, six id vectors and two crosses, and the dense matrix of a wide & deep model."""
from common import *
import tensorflow as tf
V = "tensorflow " + tf.__version__
d = sys.argv[1]
W = {"education": "HS-grad Some-college Bachelors Masters Assoc-voc 11th Assoc-acdm 10th 7th-8th Prof-school 9th 12th Doctorate 5th-6th 1st-4th Preschool",
     "marital_status": "Married-civ-spouse Never-married Divorced Separated Widowed Married-spouse-absent Married-AF-spouse",
     "relationship": "Husband Not-in-family Own-child Unmarried Wife Other-relative",
     "workclass": "Private Self-emp-not-inc Local-gov ? State-gov Self-emp-inc Federal-gov Without-pay Never-worked"}
N = ["age", "capital_gain", "capital_loss", "education_num", "hours_per_week"]; B = [18, 25, 30, 35, 40, 45, 50, 55, 60, 65]
spec = {k: tf.io.FixedLenFeature([], tf.int64) for k in N}
spec.update({k: tf.io.FixedLenFeature([], tf.string) for k in list(W) + ["occupation"]})
words = {k: tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(v.split(), list(range(len(v.split()))), value_dtype=tf.int64), -1) for k, v in W.items()}
table = tf.Variable(tf.reshape(tf.cast(tf.range(8000) % 1000, tf.float32), [1000, 8]))
raw = next(iter(tf.data.TFRecordDataset(os.path.join(d, "census.tfrecord")).batch(512 * 40)))
bs = [raw[i * 512:(i + 1) * 512] for i in range(40)]
@tf.function
def by_ops(b):
    """The shortest way by hand: every feature is looked up once, for ids and matrix."""
    f = tf.io.parse_example(b, spec); e = lambda x: tf.expand_dims(x, 1)
    ids = {k: words[k].lookup(f[k]) for k in W}
    ids["occupation"] = tf.strings.to_hash_bucket_fast(f["occupation"], 1000)
    ids["age_bucketized"] = tf.raw_ops.Bucketize(input=f["age"], boundaries=B)
    ids["education_X_occupation"] = tf.sparse.cross_hashed([e(f["education"]), e(f["occupation"])], 1000).values
    ids["age_bucketized_X_education_X_occupation"] = tf.sparse.cross_hashed([e(ids["age_bucketized"]), e(f["education"]), e(f["occupation"])], 1000).values
    part = {k: e(tf.cast(f[k], tf.float32)) for k in N}
    part.update({k + "_indicator": tf.one_hot(ids[k], len(W[k].split())) for k in W})
    part["occupation_embedding"] = tf.gather(table, ids["occupation"])
    return ids, tf.concat([part[k] for k in sorted(part)], 1)
def by_columns():
    """DenseFeatures, where this TensorFlow still has them."""
    fc = tf.feature_column; cat = {k: fc.categorical_column_with_vocabulary_list(k, W[k].split()) for k in W}
    layer = tf.keras.layers.DenseFeatures([fc.numeric_column(k, dtype=tf.int64) for k in N] + [fc.indicator_column(c) for c in cat.values()]
                                          + [fc.embedding_column(fc.categorical_column_with_hash_bucket("occupation", 1000), 8)])
    return tf.function(lambda b: layer(tf.io.parse_example(b, spec)))
def over(fn):
    fn(bs[0])
    def run():
        for b in bs: fn(b)
        return 512 * 40
    return run
if len(sys.argv) > 2 and sys.argv[2] == "--show":
    ids, matrix = by_ops(bs[0])
    for k in sorted(ids): print(k, ids[k].numpy()[:8].tolist())
    print("matrix", matrix.shape, float(tf.reduce_sum(matrix)), matrix.numpy()[1].tolist())
else:
    report(V, "census", over(by_ops))
    if hasattr(tf.keras.layers, "DenseFeatures"): report(V, "census_dense_features_only", over(by_columns()))
