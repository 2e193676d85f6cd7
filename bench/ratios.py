"""Ratios of works against a file of them: a machine changes both works of a ratio, a slower library only one.

    python3 bench/ratios.py RATIOS --works           the works that the ratios need
    python3 bench/ratios.py RATIOS RESULTS           holds the JSON lines of a run against the file; 1: one has grown
    python3 bench/ratios.py RATIOS RESULTS --keep    writes the ratios that were seen to the file

A line of the file is "WORK OTHER RATIO": how many times as long WORK takes for a row as OTHER, by the best passes.
"""
import json, re, sys

GROWN = 7 / 6  # beyond what repeated runs of the same build differ by


def read(path):
    with open(path) as f:
        return [line.split() for line in f if line.strip() and not line.startswith("#")]


def needed(pairs):
    names = {re.sub(r"_\d+_threads?$", "", name) for pair in pairs for name in pair[:2]}
    return sorted(names)


def seen(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f if line.startswith("{")]
    times = {}
    for row in rows:
        if row.get("us_per_row"):
            times[row["work"]] = min(row["us_per_row"], times.get(row["work"], row["us_per_row"]))
    return times


def keep(path, ratios):
    with open(path) as f:
        head = [line for line in f if line.startswith("#")]
    with open(path, "w") as f:
        f.writelines(head)
        f.writelines(f"{work} {other} {ratio:.3g}\n" for work, other, _, ratio in ratios)


def main():
    pairs = read(sys.argv[1])
    if sys.argv[2] == "--works":
        print("\n".join(needed(pairs)))
        return 0
    times = seen(sys.argv[2])
    lacks = [name for pair in pairs for name in pair[:2] if name not in times]
    if lacks:
        sys.exit(f"bench/ratios.py: expected figures of {', '.join(sorted(set(lacks)))} in {sys.argv[2]}")
    ratios = [(work, other, float(kept), times[work] / times[other]) for work, other, kept in pairs]
    if "--keep" in sys.argv[3:]:
        keep(sys.argv[1], ratios)
        return 0
    print(f"{'work':28}{'beside':28}{'kept':>9}{'seen':>9}")
    for work, other, kept, ratio in ratios:
        print(f"{work:28}{other:28}{kept:9.3g}{ratio:9.3g}{'  grown' if ratio > kept * GROWN else ''}")
    return int(any(ratio > kept * GROWN for _, _, kept, ratio in ratios))


sys.exit(main())
