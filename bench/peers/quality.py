"""Quality side by side: the model of a config file, trained by Headrace and by TensorFlow's estimators, beside
scikit-learn's logistic regression and histogram gradient boosting on the same rows.

    python quality.py HEADRACE CONFIG.yaml DATA_DIR [--seeds 1,2,3] [--peers headrace,tensorflow,logistic,trees]

Prints one JSON line a run, then for each peer the mean and the deviation over the seeds. All figures are of the config's
eval_files, exact, in float64. Understands what the examples use: numeric, bucketized, vocabulary_list, hash_bucket,
identity, crossed, indicator and embedding columns, and arithmetic among derived fields. Needs TensorFlow 2.15 for
"tensorflow", scikit-learn and PyYAML.
"""
import argparse, csv, glob, io, json, os, shutil, subprocess, sys, tempfile, time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import yaml

ESTIMATORS = ["linear_classifier", "dnn_classifier", "dnn_linear_combined_classifier"]


# ---- the config file and its rows ----

def fields_of(config):
    """name -> numpy type of what a field holds."""
    kinds = {"int64": np.int64, "int32": np.int64, "bool": np.int64, "float": np.float32, "float32": np.float32,
             "double": np.float32, "float64": np.float32, "string": object}
    return {name: kinds[k] for k, names in config["schema"].items() if k in kinds for name in names}


def label_of(config):
    return config["model"].get("label") or config["schema"]["label"]


def default_of(config, field):
    """The number that replaces a missing one; None: there is none."""
    named = config["schema"].get("default", {}).get(field)
    if named is not None:
        return named
    for c in config["columns"].values():
        if (c.get("numeric") == field or c.get("bucketized") == field) and "default" in c:
            return c["default"]
    return None


def number(config, of, rows):
    return rows[of] if isinstance(of, str) else of


def derive(config, rows):
    for name, d in config.get("derived", {}).items():
        kind = next(iter(d))
        of = d[kind]
        a, b = (number(config, of[0], rows), number(config, of[1], rows)) if isinstance(of, list) else (rows[of], None)
        rows[name] = {"product": lambda: np.float32(a) * np.float32(b), "sum": lambda: np.float32(a) + np.float32(b),
                      "difference": lambda: np.float32(a) - np.float32(b), "ratio": lambda: np.divide(a, b, out=np.zeros(len(a), np.float32), where=np.asarray(b) != 0),
                      "log": lambda: np.log(np.float32(a) + np.float32(d.get("offset", 0))),
                      "greater": lambda: (a > b).astype(np.int64), "at_least": lambda: (a >= b).astype(np.int64),
                      "less": lambda: (a < b).astype(np.int64), "at_most": lambda: (a <= b).astype(np.int64)}[kind]()


def load(headrace, path, config, data, key):
    """The rows of the files of `train: KEY`, as Headrace reads them: field -> array, and the label."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rows.csv")
        files = sorted(glob.glob(os.path.join(data, config["train"][key])))
        subprocess.run([headrace, "convert", *files, "--schema", path, "-o", out], check=True, stdout=subprocess.DEVNULL)
        with open(out, newline="", encoding="utf-8") as f:
            reader = csv.reader(f)
            names = next(reader)
            texts = list(zip(*reader))
    rows = {}
    for name, column in zip(names, texts):
        kind = fields_of(config)[name]
        if kind is object:
            rows[name] = np.array([t.encode() for t in column], object)
        else:
            fill = default_of(config, name)
            missing = fill if fill is not None else -1  # which tf.feature_column takes for none
            rows[name] = np.array([missing if t == "" else t for t in column]).astype(np.float64).astype(kind)
    derive(config, rows)
    label = rows[label_of(config)]
    words = config["model"].get("label_vocabulary")
    return rows, np.array([words.index(w.decode()) for w in label]) if words else label.astype(np.int64)


# ---- figures ----

def figures(label, p):
    from sklearn.metrics import log_loss, roc_auc_score
    p = np.clip(p.astype(np.float64), 1e-7, 1 - 1e-7)
    return {"auc": float(roc_auc_score(label, p)), "log_loss": float(log_loss(label, p)),
            "accuracy": float(((p > 0.5) == label).mean())}


# ---- Headrace ----

def run_headrace(a, config, estimator, seed, train, test):
    model = tempfile.mkdtemp()
    base = [a.config, "--data", a.data, "--model-dir", model, "--estimator", estimator, "--seed", str(seed), "--json"]
    start = time.monotonic()
    subprocess.run([a.headrace, "train", *base], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    out = json.loads(subprocess.run([a.headrace, "evaluate", *base], check=True, stdout=subprocess.PIPE).stdout)
    shutil.rmtree(model)
    return {**{k: out[k] for k in ("auc", "log_loss", "accuracy")}, "seconds": seconds}


# ---- TensorFlow ----

def tf_columns(tf, config):
    fc, made, types = tf.feature_column, {}, fields_of(config)

    def numeric(field, d):
        mean, std = d.get("mean", 0), d.get("std", 1)
        return fc.numeric_column(field, default_value=default_of(config, field),
                                 normalizer_fn=(lambda x: (x - mean) / std) if "mean" in d else None)

    def get(name):
        if name not in made:
            made[name] = make(name, config["columns"][name])
        return made[name]

    def part(key):
        if key.startswith("column "):
            return get(key[len("column "):])
        return key if key in types else get(key)

    def make(name, d):
        field = d.get("field", name)
        if "numeric" in d:
            return numeric(d["numeric"], d)
        if "bucketized" in d:
            return fc.bucketized_column(numeric(d["bucketized"], {}), d["boundaries"])
        if "vocabulary_list" in d:
            return fc.categorical_column_with_vocabulary_list(field, d["vocabulary_list"])
        if "hash_bucket" in d:
            return fc.categorical_column_with_hash_bucket(field, d["hash_bucket"])
        if "identity" in d:
            return fc.categorical_column_with_identity(field, d["identity"])
        if "crossed" in d:
            return fc.crossed_column([part(k) for k in d["crossed"]], d["hash_bucket_size"])
        sys.exit("quality: column %s: expected a kind that this script knows, found %s" % (name, list(d)[0]))

    def dense(item):
        if isinstance(item, dict):
            return fc.embedding_column(get(item["embedding"]), item["dimension"])
        return fc.indicator_column(get(item[len("indicator "):])) if item.startswith("indicator ") else get(item)

    m = config["model"]
    return [get(n) for n in m["linear_feature_columns"]], [dense(n) for n in m["dnn_feature_columns"]]


def tf_optimizer(tf, d):
    old = {"ftrl": tf.keras.optimizers.legacy.Ftrl, "adagrad": tf.keras.optimizers.legacy.Adagrad,
           "adam": tf.keras.optimizers.legacy.Adam}
    (name, options), = d.items()
    return old[name](**options)


def run_tensorflow(a, config, estimator, seed, train, test):
    import tensorflow as tf
    tf.compat.v1.logging.set_verbosity("ERROR")
    linear, deep = tf_columns(tf, config)
    model, t, kinds = config["model"], config["train"], fields_of(config)
    where = tempfile.mkdtemp()
    conf = tf.estimator.RunConfig(model_dir=where, tf_random_seed=seed, save_summary_steps=10**9, save_checkpoints_steps=10**9)
    halves = {}
    if estimator != "dnn_classifier":
        halves.update(linear_feature_columns=linear, linear_optimizer=tf_optimizer(tf, model["linear_optimizer"]))
    if estimator != "linear_classifier":
        halves.update(dnn_feature_columns=deep, dnn_hidden_units=model["dnn_hidden_units"],
                      dnn_optimizer=tf_optimizer(tf, model["dnn_optimizer"]))
    e = tf.estimator.DNNLinearCombinedClassifier(config=conf, **halves)
    used = [k for k in train[0] if k in kinds and k != label_of(config)]
    types = {k: tf.string if kinds[k] is object else tf.as_dtype(kinds[k]) for k in used}
    signature = ({k: tf.TensorSpec([None], v) for k, v in types.items()}, tf.TensorSpec([None], tf.int64))

    def batches(rows, label, size, epochs, order):
        def generate():
            for _ in range(epochs):
                row = order.permutation(len(label)) if order else np.arange(len(label))
                for i in range(0, len(row), size):
                    j = row[i:i + size]
                    yield {k: rows[k][j] for k in used}, label[j]
        return lambda: tf.data.Dataset.from_generator(generate, output_signature=signature).prefetch(4)

    start = time.monotonic()
    e.train(batches(*train, t.get("batch_size", 128), t.get("epochs", 1), np.random.RandomState(seed)))
    seconds = time.monotonic() - start
    p = np.array([q["logistic"][0] for q in e.predict(batches(*test, 4096, 1, None))])
    shutil.rmtree(where, ignore_errors=True)
    return {**figures(test[1], p), "seconds": seconds}


# ---- scikit-learn ----

def categories(config, name, rows):
    d = config["columns"][name]
    if "bucketized" in d:
        return np.searchsorted(np.array(d["boundaries"], np.float32), rows[d["bucketized"]], side="right").astype(str)
    if "crossed" in d:
        parts = [categories(config, k[len("column "):], rows) if k.startswith("column ") else rows[k].astype(str)
                 for k in d["crossed"]]
        out = parts[0].astype(object)
        for p in parts[1:]:
            out = out + "\x1f" + p.astype(object)
        return out.astype(str)
    return rows[d.get("field", name)].astype(str)


def run_logistic(a, config, estimator, seed, train, test):
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder
    start, blocks = time.monotonic(), ([], [])
    for name in config["model"]["linear_feature_columns"]:
        encoder = OneHotEncoder(handle_unknown="ignore")
        blocks[0].append(encoder.fit_transform(categories(config, name, train[0]).reshape(-1, 1)))
        blocks[1].append(encoder.transform(categories(config, name, test[0]).reshape(-1, 1)))
    m = LogisticRegression(C=1.0, max_iter=400).fit(sparse.hstack(blocks[0]).tocsr(), train[1])
    seconds = time.monotonic() - start
    return {**figures(test[1], m.predict_proba(sparse.hstack(blocks[1]).tocsr())[:, 1]), "seconds": seconds}


def run_trees(a, config, estimator, seed, train, test):
    """The fields as they are: numbers, and categories of at most 254 values."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.preprocessing import OrdinalEncoder
    start, columns, named = time.monotonic(), ([], []), []
    for k, kind in fields_of(config).items():
        if k == label_of(config) or k not in train[0] or k in a.without.split(","):
            continue
        if kind is not object:
            pair = [r[0][k].reshape(-1, 1).astype(np.float64) for r in (train, test)]
        elif len(set(train[0][k])) > 254:
            continue
        else:
            encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
            pair = [encoder.fit_transform(train[0][k].astype(str).reshape(-1, 1)),
                    encoder.transform(test[0][k].astype(str).reshape(-1, 1))]
        named.append(kind is object)
        for of, values in zip(columns, pair):
            of.append(values)
    m = HistGradientBoostingClassifier(categorical_features=named, random_state=seed, early_stopping=True,
                                       validation_fraction=0.1, max_iter=500).fit(np.hstack(columns[0]), train[1])
    seconds = time.monotonic() - start
    return {**figures(test[1], m.predict_proba(np.hstack(columns[1]))[:, 1]), "seconds": seconds}


PEERS = {"headrace": (run_headrace, ESTIMATORS), "tensorflow": (run_tensorflow, ESTIMATORS),
         "logistic": (run_logistic, [None]), "trees": (run_trees, [None])}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("headrace")
    ap.add_argument("config")
    ap.add_argument("data")
    ap.add_argument("--seeds", default="1,2,3")
    ap.add_argument("--peers", default=",".join(PEERS))
    ap.add_argument("--estimators", default=",".join(ESTIMATORS))
    ap.add_argument("--without", default="", help="fields that the trees do not see: what gives the label away")
    a = ap.parse_args()
    with open(a.config, encoding="utf-8") as f:
        config = yaml.safe_load(f)
    train, test = (load(a.headrace, a.config, config, a.data, k) for k in ("files", "eval_files"))
    for peer in a.peers.split(","):
        run, kinds = PEERS[peer]
        for kind in kinds:
            if kind and kind not in a.estimators.split(","):
                continue
            results = []
            for seed in map(int, a.seeds.split(",")):
                results.append(run(a, config, kind, seed, train, test))
                print(json.dumps({"peer": peer, "model": kind or peer, "seed": seed, **results[-1]}), flush=True)
            of = {k: np.array([r[k] for r in results]) for k in results[0]}
            print("# %-10s %-30s AUC %.4f ± %.4f   log loss %.4f ± %.4f   accuracy %.4f   %.1f s" % (
                peer, kind or peer, of["auc"].mean(), of["auc"].std(ddof=1) if len(results) > 1 else 0,
                of["log_loss"].mean(), of["log_loss"].std(ddof=1) if len(results) > 1 else 0, of["accuracy"].mean(),
                np.median(of["seconds"])), flush=True)


if __name__ == "__main__":
    main()
