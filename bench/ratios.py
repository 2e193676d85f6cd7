"""Ratios of works against a file of them: a machine changes both works of a ratio, a slower library only one.

    python3 bench/ratios.py RATIOS RESULTS --needed  the works to run (again): of ratios without a figure, or that have grown
    python3 bench/ratios.py RATIOS RESULTS           holds the JSON lines of some rounds against the file; 1: one has grown
    python3 bench/ratios.py RATIOS RESULTS --keep    writes the medians of the rounds to the file

A line of the file is "WORK OTHER RATIO": how many times as long WORK takes for a row as OTHER. A round begins with the
line of the machine. What one round says may be the machine's; what all rounds say is the library's: so the least counts.
"""
import json, statistics, sys

GROWN = 7 / 6


def read_ratios(path):
    with open(path) as f:
        return [line.split() for line in f if line.strip() and not line.startswith("#")]


def read_rounds(path):
    rounds = []
    with open(path) as f:
        for row in (json.loads(line) for line in f if line.startswith("{")):
            if "machine" in row:
                rounds.append({})
            elif row.get("us_per_row"):
                rounds[-1][row["work"]] = row["us_per_row"]
    return rounds


def seen(rounds, work, other):
    return [times[work] / times[other] for times in rounds if work in times and other in times]


def main():
    rows = [(work, other, float(kept)) for work, other, kept in read_ratios(sys.argv[1])]
    rounds = read_rounds(sys.argv[2])
    found = [(work, other, kept, seen(rounds, work, other)) for work, other, kept in rows]
    grown = [row for row in found if not row[3] or min(row[3]) > row[2] * GROWN]
    if "--needed" in sys.argv[3:]:
        for name in sorted({name.split("_1_thread")[0] for row in grown for name in row[:2]}):
            print(name)
        return 0
    lacking = [f"{work} and {other}" for work, other, _, ratios in found if not ratios]
    if lacking:
        sys.exit(f"bench/ratios.py: expected figures of {', '.join(lacking)} in one round of {sys.argv[2]}")
    if "--keep" in sys.argv[3:]:
        with open(sys.argv[1]) as f:
            head = [line for line in f if line.startswith("#")]
        with open(sys.argv[1], "w") as f:
            f.writelines(head + [f"{work} {other} {statistics.median(ratios):.3g}\n" for work, other, _, ratios in found])
        return 0
    print(f"{'work':28}{'beside':28}{'kept':>9}{'least':>9}{'rounds':>9}")
    for row in found:
        work, other, kept, ratios = row
        print(f"{work:28}{other:28}{kept:9.3g}{min(ratios):9.3g}{len(ratios):9}{'  grown' if row in grown else ''}")
    return int(bool(grown))


sys.exit(main())
