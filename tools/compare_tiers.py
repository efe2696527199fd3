#!/usr/bin/env python3
"""Tier 1 against tier 0, model by model, by turns: `compare_tiers.py build/release/tierup FOLDER...`.

A model is NAME.pt or NAME.pt2 with NAME.inputs.safetensors or NAME.case0.safetensors beside it. `tierup compare` calls the model
at tier 0 and at whatever tier it settled on, by turns in one process. A model for which the plan takes more than 1/0.97 of tier 0's
time is looked at twice more, for longer; where the median still does, it is printed as a loss, and the exit status is 1. `--with` names a command
that each comparison runs under, `--only` takes models by name. Processors of less are stood for by TIERUP_INSTRUCTION_SET.
"""

import argparse
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys

LEAST = 0.97
LOOKS = 3  # Of a model that seems to lose.


def models_of(folder, only):
    for model in sorted(p for p in folder.iterdir() if p.suffix in (".pt", ".pt2")):
        name = model.name.split(".")[0]
        if only and name not in only:
            continue
        for kind in ("inputs", "case0"):
            case = folder / f"{name}.{kind}.safetensors"
            if case.exists():
                yield model, case
                break


def compare(arguments, model, case, seconds):
    command = shlex.split(arguments.within) + [
        arguments.tierup, "compare", str(model), str(model), "--inputs", str(case), "--rtol", "1", "--atol", "1e9",
        "--threads", str(arguments.threads), "--tiering", "compile=off", "--other-tiering", "compile=background",
        "-t", str(seconds), "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
        return found["first_p50_ms"], found["second_p50_ms"]
    except (json.JSONDecodeError, KeyError):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tierup")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--with", dest="within", default="")
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    ratios, losses, failures = [], [], []
    for folder in arguments.folders:
        for model, case in models_of(folder, set(arguments.only)):
            looks = []
            for look in range(LOOKS):
                times = compare(arguments, model, case, arguments.seconds * (1 + look))
                if times is None:
                    break
                looks.append(times[0] / times[1])
                if looks[0] >= LEAST:
                    break
            if times is None:
                failures.append(model.name)
                print(f"{model.name:36} not compared", flush=True)
                continue
            ratio = statistics.median(looks)
            ratios.append(ratio)
            losses += [model.name] if ratio < LEAST else []
            print(f"{model.name:36} tier 0 {times[0]:10.4g} ms, settled {times[1]:10.4g} ms, {ratio:6.2f}"
                  f"{'  median of ' + str(len(looks)) if look else ''}{'  LOSS' if ratio < LEAST else ''}", flush=True)  # fmt: skip
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} models, geometric mean {mean:.2f}, least {min(ratios):.2f}, "
              f"{len(losses)} below {LEAST}: {' '.join(losses)}")  # fmt: skip
    if failures:
        print("not compared:", " ".join(failures))
    return 1 if losses or not ratios else 0


if __name__ == "__main__":
    sys.exit(main())
