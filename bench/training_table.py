"""A table in Markdown from the JSON lines of bench/training-table: µs an example, and how many times the faster peer takes.

    python3 bench/training_table.py TRAINING.jsonl...     of a size and a peer that occur more than once the fastest counts
"""
import json, sys

OURS = "headrace"


def load(paths):
    """{size: {peer: µs an example}}, and all peers, in the order of their lines."""
    sizes, peers = {}, []
    for path in paths:
        with open(path) as f:
            for row in map(json.loads, f):
                peer = row["peer"].removesuffix(" estimator").split("+")[0].replace("tensorflow", "TensorFlow")
                each = sizes.setdefault(row["size"], {})
                each[peer] = min(row["us_per_row"], each.get(peer, row["us_per_row"]))
                if peer != OURS and peer not in peers:
                    peers.append(peer)
    return sizes, peers


def number(x):
    return "–" if x is None else f"{x:.0f}" if x >= 1000 else f"{x:.3g}"


def table(sizes, peers):
    yield "| batch | layers | embeddings | Headrace | " + " | ".join(peers) + " | times |"
    yield "|---" * (len(peers) + 5) + "|"
    for size in sorted(sizes, key=lambda size: [[int(n) for n in part.split("-")] for part in size.split("/")]):
        theirs, ours = [sizes[size].get(p) for p in peers], sizes[size].get(OURS)
        fastest = min((t for t in theirs if t), default=None)
        times = fastest / ours if fastest and ours else None
        yield "| " + " | ".join([*size.split("/"), *map(number, [ours, *theirs, times])]) + " |"


if __name__ == "__main__":
    print("\n".join(table(*load(sys.argv[1:]))))
