#!/usr/bin/env python3
"""Bubbles of real runs beside the simulator's, which is fed with their measured pass times.

    measured_bubbles.py BIN_FOLDER [--iterations 20] [--passes 2]

Two ranks, one thread of compute each; needs two idle cores. All plans run once per pass, so that a drift of the machine
meets all of them (A-B-A). Prints a table in Markdown. Half of the iterations are recorded: 20 steps of a plan in two
passes of 20 iterations.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

SCHEDULES = {"naive": [], "gpipe": [], "1f1b": [], "interleaved-1f1b": ["--vpp", "2"]}
MICROBATCHES = (2, 4, 8, 16)
MODEL = "--model gpt-mini --ffn-hidden-size 1536 --mbs 1 --pp 2".split()  # a quarter of it takes 20 ms or more


def run_once(folder, work, schedule, extra, m, iterations):
    flags = MODEL + ["--schedule", schedule, "--gbs", str(m)] + extra
    report, times = work / "report.json", work / "times.json"
    subprocess.run([folder / "foreshard-run", *flags, "--iterations", str(iterations), "--json", report,
                    "--write-stage-times", times], check=True, capture_output=True)
    measured = json.loads(report.read_text())
    simulated = json.loads(subprocess.run(
        [folder / "foreshard", "simulate", *flags, "--cluster", "dgx-a100-80g", "--software", "foreshard",
         "--precision", "fp32", "--stage-times", times, "--json", "-"], check=True, capture_output=True).stdout)
    stages = measured["measured"]["stage_times"]["stages"]
    return {"measured": 100 * measured["summary"]["bubble_ratio"],
            "simulated": 100 * simulated["summary"]["bubble_ratio"],
            "steps": measured["measured"]["step_time_ms"]["count"],
            "step_ms": measured["measured"]["step_time_ms"]["median"],
            "chunk_ms": min(min(s["f"], s["i"] + s["w"]) for s in stages) / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--schedules", default=",".join(SCHEDULES), help="of these")
    options = parser.parse_args()
    runs = {}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(options.passes):
            for m in MICROBATCHES:
                for schedule in options.schedules.split(","):
                    extra = SCHEDULES[schedule]
                    runs.setdefault((schedule, m), []).append(
                        run_once(options.folder, pathlib.Path(work), schedule, extra, m, options.iterations))
    print("| schedule | m | shortest pass, ms | step, ms | measured bubble, % | simulated, % | difference, points |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (schedule, m), of_plan in sorted(runs.items()):
        mean = {key: statistics.mean(run[key] for run in of_plan) for key in of_plan[0]}
        print(f"| {schedule} | {m} | {mean['chunk_ms']:.1f} | {mean['step_ms']:.1f} | {mean['measured']:.1f} | "
              f"{mean['simulated']:.1f} | {mean['measured'] - mean['simulated']:+.1f} |")


if __name__ == "__main__":
    main()
