"""Hostile submissions: as this account, and as an ordinary user."""

import json
import os
import subprocess

from tqdm import tqdm

from auditkit.places import ROOT

import attack_range  # isort: skip


def attacks(worker, settings):
    """Every attack: points gained, things reached, processes left, honest work that suffered."""
    os.environ["ATTENTION_SECRET"] = attack_range.SECRET
    listener = attack_range.Listener()
    faults, count, suffered = {}, 0, 0
    for name, code in tqdm(list(attack_range.attacks()), "attacks", disable=None):
        found, _ = attack_range.run_attack(worker, code, listener.port)
        count += 1
        suffered += attack_range.honest(worker).score != 100
        if found:
            faults[name] = found
    return {
        "attacks": count,
        "faults": faults,
        "honest submissions that suffered": suffered,
        "connections that arrived": listener.reached,
        "account": "root" if os.geteuid() == 0 else "ordinary user",
        "layers": worker.layers,
    }


def attacks_as_user(worker, settings):
    """The same as another account, in another process."""
    if os.geteuid() != 0:
        return {"note": "this run is an ordinary user's already"}
    from test_attacks import ordinary_python

    command = ordinary_python()
    if not command:
        return {"note": "no Python here that an ordinary user may run"}
    program = (
        f"import sys, json; sys.path[:0] = [{str(ROOT / 'book/tools')!r}]; "
        "from auditkit.attacks import attacks; from attention_lib.coursework.sandbox import Worker; "
        "print(json.dumps(attacks(Worker('bubblewrap'), None)))"
    )
    done = subprocess.run([*command, "-c", program], capture_output=True, text=True, cwd="/", timeout=3600)
    return json.loads(done.stdout.strip().split("\n")[-1]) if done.returncode == 0 else {"failed": done.stderr[-800:]}
