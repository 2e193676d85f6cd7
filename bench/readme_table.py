"""The README's table of figures, from the JSON lines of bench/compare.

    python3 bench/readme_table.py RESULTS [README.md]

RESULTS holds headrace.jsonl and peers.jsonl of one run. With a README the table in it is replaced, between the lines
<!-- figures --> and <!-- end of figures -->; otherwise it is printed.
"""
import json, os, platform, re, sys, textwrap

PEERS = {  # our work: (what it is, the peers' works that do the same job)
    "read": ("read TFRecords, both checksums, in batches", ["read_batched"]),
    "read_gzip": ("the same, GZIP (TensorFlow: record by record)", ["read_gzip"]),
    "parse": ("parse tf.Example (40 features), batches of 512, from memory", ["parse_example_512"]),
    "pipeline_1_thread": ("list, interleave, shuffle, batch, parse, prefetch: one thread", ["pipeline"]),
    "pipeline": ("the same, two threads", ["pipeline"]),
    "pipeline_map_then_batch": ("the same with parsing before batch", ["pipeline_map_then_batch"]),
    "columns": ("parse, then 13 bucketized, 26 hashed, 2 crossed columns", ["parse_columns_512"]),
    "columns_embed": ("parse, then one matrix of 13 one-hots and 26 embeddings of 16", ["parse_columns_embed_512"]),
    "csv": ("CSV (14 integers, 26 strings) to batches", ["csv_dataset"]),
    "convert": ("CSV to TFRecord (TensorFlow: a loop in Python)", ["convert_csv_to_tfrecord"]),
    "train_linear": ("train a linear classifier from files", ["train_linear_ftrl"]),
    "train_dnn": ("train a DNN 256-128-64 from files", ["train_dnn_256_128_64_adagrad"]),
    "train_wide_deep": ("train wide & deep 256-128-64 from files", ["train_wide_deep_256_128_64"]),
}


def load(path):
    with open(path) as f:
        return [row for row in (json.loads(line) for line in f if line.startswith("{")) if "work" in row]


def processor():
    with open("/proc/cpuinfo") as f:
        names = re.findall(r"model name\s*: (.*)", f.read())
    return f"{len(names)} × {names[0]}" if names else platform.processor()


def versions(peers):
    return sorted({m[1] for m in (re.match(r"tensorflow ([\d.]+)", r["peer"]) for r in peers) if m})


def best(rows, version, works, key):
    found = [r[key] for r in rows if r["work"] in works and r.get(key) is not None and r["peer"].startswith("tensorflow " + version)]
    return min(found) if found else None


def number(x):
    return "–" if x is None else f"{x:.0f}" if x >= 1000 else f"{x:.3g}"


def line(what, mine, theirs):
    ratios = [(number(t), number(t / mine if t else None)) for t in theirs]
    return f"| {what} | {number(mine)} | " + " | ".join(t for ratio in ratios for t in ratio) + " |"


def csv_readers(ours, peers):
    """A sentence on those that read CSV into columns, too; None: none ran."""
    mine = next((r["median_us_per_row"] for r in ours if r["work"] == "csv"), None)
    seen = {}
    for r in peers:
        if r["work"].startswith("csv_read"):
            seen[r["peer"]] = min(r["median_us_per_row"], seen.get(r["peer"], r["median_us_per_row"]))
    if not mine or not seen:
        return None
    each = [f"{peer} {number(theirs)} ({number(theirs / mine)} times)" for peer, theirs in sorted(seen.items())]
    return f"The same CSV takes {', '.join(each)}, each on the faster of one core or two."


def memory(ours):
    """A sentence on memory over the length of files; None: not measured."""
    lengths = next((r for r in ours if r["work"] == "memory"), None)
    if not lengths:
        return None
    each = [f"{what} {number(lengths[work + '_mb_1e5'])} MB and {number(lengths[work + '_mb_1e7'])} MB"
            for work, what in (("convert", "convert"), ("read", "reading in batches"), ("index", "an index"))]
    return f"Memory for 100,000 short records and for 10,000,000: {'; '.join(each)}."


def table(ours, peers):
    known = versions(peers)
    out = ["| µs a row | Headrace | " + " | ".join(f"TensorFlow {v} | times" for v in known) + " |", "|---|---|" + "---|---|" * len(known)]

    def add(work, what, theirs, key, scale=1):
        mine = next((r for r in ours if r["work"] == work), None)
        found = [best(peers, v, theirs, key) for v in known]
        if mine:
            out.append(line(what, mine.get(key) * scale, [f and f * scale for f in found]))

    for work, (what, theirs) in PEERS.items():
        add(work, what, theirs, "median_us_per_row")
    add("start", "process start to first batch, ms", ["start"], "median_seconds", 1e3)
    add("state", "a saved iterator with shuffle(10000), bytes", ["state"], "bytes")
    out.append("")
    shown = set(PEERS) | {w for _, theirs in PEERS.values() for w in theirs}
    fewest = min(r["passes"] for r in ours + peers if r["work"] in shown)
    out.append(f"Criteo-like rows (730 B; 13 integers, 26 strings, a label), from the page cache, medians of at least {fewest} passes, both sides "
               f"one after the other on {processor()}; where TensorFlow ran on one core and on two, its figure is the faster; –: not run. "
               "`bench/make-data DIR`, then `bench/compare DIR` makes this table.")
    out.extend("\n" + said for said in (csv_readers(ours, peers), memory(ours)) if said)
    return "\n".join(line if line.startswith("|") else wrapped(line) for line in out)


def wrapped(text):
    """Prose in lines below 120 characters; a blank line in front of it stays."""
    return "\n" * text.startswith("\n") + textwrap.fill(text.strip(), 118, break_long_words=False, break_on_hyphens=False)


def main():
    folder = sys.argv[1]
    text = table(load(os.path.join(folder, "headrace.jsonl")), load(os.path.join(folder, "peers.jsonl")))
    if len(sys.argv) < 3:
        print(text)
        return
    with open(sys.argv[2]) as f:
        readme = f.read()
    begin, end = "<!-- figures -->\n", "<!-- end of figures -->"
    head, rest = readme.split(begin)
    with open(sys.argv[2], "w") as f:
        f.write(head + begin + text + "\n" + end + rest.split(end)[1])


main()
