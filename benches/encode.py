"""Times encoding and decoding, each phase in a process of its own that bench.py starts with a request on stdin.

load         one peer: from import to the first ids, and the first pass over a text
single       all peers in turn on one CPU: texts not seen before, then the last of them again, and back
batch        all peers in turn on all CPUs
adversarial  each pass in a fork of its own, so that a peer may hang or crash
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import peers

DOCUMENT, SHORT = 2000, 100  # characters
LONGEST = 2_000_000
WARM_UP = 5_000_000
LIMIT_SECONDS = 20
FIRST = "hello wörld, 漢字"  # before an adversarial text, for what is only made once

Outcome = dict[str, Any]


def clocked(work: Callable[[], Any]) -> tuple[Outcome, Any]:
    """Seconds by the clock and of the processor, and what `work` gives; or the error."""
    gc.collect()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}, result
    except BaseException as error:  # a panic of a Rust library is one
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": f"{type(error).__name__}: {error}"[:100]}, None
    finally:
        gc.enable()


def race(kind: str, loaded: dict[str, peers.Peer], inputs: Sequence[Any], size: Callable[[Any], int]) -> Outcome:
    """Every peer over each input, in turn, with another one first each time. Wrong ids take a peer's figures away."""
    work = WORK[kind]
    able = [name for name, peer in loaded.items() if getattr(peer, ABILITY.get(kind, "list")) is not None]
    rounds: dict[str, list[Outcome]] = {name: [] for name in able}
    errors: dict[str, str] = {}
    for turn, given in enumerate(inputs):
        found = {}
        for place in range(len(able)):
            name = able[(turn + place) % len(able)]
            outcome, result = clocked(lambda name=name, given=given: work(loaded[name], given))
            rounds[name].append(outcome)
            found[name] = expected_form(kind, result)
        for name in able:
            if "error" in rounds[name][-1]:
                errors.setdefault(name, rounds[name][-1]["error"])
            elif found[name] != found["tiktoken"]:
                errors.setdefault(name, "wrong")
    figures = {
        name: {"error": errors[name]}
        if name in errors
        else {clock: [r[clock] for r in rounds[name]] for clock in CLOCKS}
        for name in able
    }
    return {"sizes": [size(given) for given in inputs], "peers": figures}


CLOCKS = ("wall", "cpu")
ABILITY = {"array": "array", "batch": "batch", "decode": "decode"}
WORK: dict[str, Callable[[peers.Peer, Any], Any]] = {
    "list": lambda peer, text: peer.list(text),
    "array": lambda peer, text: peer.array(text),
    "documents": lambda peer, documents: [peer.list(document) for document in documents],
    "short": lambda peer, documents: [peer.list(document) for document in documents],
    "batch": lambda peer, documents: peer.batch(documents),
    "decode": lambda peer, ids: peer.decode(ids),
}


def expected_form(kind: str, result: Any) -> bytes | None:
    if result is None:
        return None
    if kind == "decode":
        return result if isinstance(result, bytes) else result.encode()
    return peers.sample(result)


def num_bytes(given: str | list[str]) -> int:
    return len("".join(given).encode())


def load(request: Outcome) -> Outcome:
    """Nothing that a library needs may be imported before the clock starts."""
    (name,) = request["peers"]
    text = request_text(request)[: request["part"]]
    loading, peer = clocked(lambda: first_ids(name, request))
    if peer is None:
        return {"load": loading, "cold": loading}
    outcome, ids = clocked(lambda: peer.list(text))
    return {"load": loading, "cold": outcome | {"size": num_bytes(text), "digest": digest(ids)}}


def first_ids(name: str, request: Outcome) -> peers.Peer:
    peer = peers.load(name, request["encoding"], Path(request["folder"]))
    peer.list("hello world")
    return peer


def single(request: Outcome) -> Outcome:
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    loaded, rounds = load_all(request), request["rounds"]
    text = request_text(request)
    import corpora

    first = min(len(text) // 4, WARM_UP, request["part"])
    for peer in loaded.values():
        peer.list(text[:first])
    parts = iter(corpora.parts(text[first:], 3 * rounds + 1, longest=min(LONGEST, request["part"])))
    take = lambda: [next(parts) for _ in range(rounds)]  # noqa: E731
    unseen: dict[str, list[Any]] = {"list": take(), "array": take()}
    unseen["documents"] = [corpora.cut(part, DOCUMENT) for part in take()]
    last = corpora.cut(next(parts), SHORT)
    unseen["short"] = [last[at::rounds][:1000] for at in range(rounds)]
    rows = {}
    for kind, inputs in unseen.items():
        rows[f"unseen {kind}"] = race(kind, loaded, inputs, len if kind == "short" else num_bytes)
        rows[f"warm {kind}"] = race(kind, loaded, inputs[-1:] * rounds, len if kind == "short" else num_bytes)
    ids = loaded["tiktoken"].list(unseen["list"][-1])
    rows["decode"] = race("decode", loaded, [ids] * rounds, lambda _: num_bytes(unseen["list"][-1]))
    return {"rows": rows}


def batch(request: Outcome) -> Outcome:
    loaded, rounds = load_all(request), request["rounds"]
    import corpora

    parts = corpora.parts(request_text(request), rounds, longest=min(2 * LONGEST, request["part"]))
    unseen = [corpora.cut(part, DOCUMENT) for part in parts]
    return {
        "rows": {
            "unseen batch": race("batch", loaded, unseen, num_bytes),
            "warm batch": race("batch", loaded, unseen[-1:] * rounds, num_bytes),
        }
    }


def adversarial(request: Outcome) -> Outcome:
    """Every peer's first pass over each kind, and merganser's over twice and four times as much of it."""
    loaded, rounds, size = load_all(request), request["rounds"], request["part"]
    import corpora

    rows = {}
    twice, four_times = dict(corpora.adversarial(2 * size)), dict(corpora.adversarial(4 * size))
    for name, text in corpora.adversarial(size):
        runs: dict[str, list[Outcome]] = {peer: [] for peer in loaded}
        growth = []
        for turn in range(rounds):
            order = list(loaded)[turn % len(loaded) :] + list(loaded)[: turn % len(loaded)]
            for peer in order:
                if not runs[peer] or "error" not in runs[peer][-1]:
                    runs[peer].append(forked(loaded[peer], text))
            growth.append([forked(loaded["merganser"], longer) for longer in (text, twice[name], four_times[name])])
        rows[name] = {"peers": {peer: verdict(runs, peer) for peer in loaded}, "growth": steps(growth)}
    return {"rows": rows}


def forked(peer: peers.Peer, text: str) -> Outcome:
    """The outcome of one pass in a fork of this process, which has loaded every peer and encoded nothing."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        signal.alarm(LIMIT_SECONDS)
        peer.list(FIRST)
        outcome, ids = clocked(lambda: peer.list(text))
        os.write(writing, json.dumps(outcome | {"digest": digest(ids)}).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        return {"error": f"over {LIMIT_SECONDS} s" if status == -signal.SIGALRM else f"exit code {status}"}
    return json.loads(answer)


def verdict(runs: dict[str, list[Outcome]], peer: str) -> Outcome:
    """The seconds of a peer whose ids are tiktoken's, or why there are none. Where tiktoken failed, `unproven`."""
    errors = [run["error"] for run in runs[peer] if "error" in run]
    if errors:
        return {"error": errors[0]}
    expected = runs["tiktoken"][0].get("digest")
    if expected is not None and any(run["digest"] != expected for run in runs[peer]):
        return {"error": "wrong"}
    return {clock: [run[clock] for run in runs[peer]] for clock in CLOCKS} | {"unproven": expected is None}


def steps(growth: list[list[Outcome]]) -> Outcome:
    """time(2n)/time(n) of each round for n the size and twice the size, in processor time."""
    seconds = [[outcome.get("cpu", float("nan")) for outcome in outcomes] for outcomes in growth]
    return {"to 2n": [two / one for one, two, _ in seconds], "to 4n": [four / two for _, two, four in seconds]}


def digest(ids: Any) -> str | None:
    return None if ids is None else hashlib.sha256(peers.sample(ids)).hexdigest()


def load_all(request: Outcome) -> dict[str, peers.Peer]:
    """The peers that have this encoding."""
    loaded = {}
    for name in request["peers"]:
        outcome, peer = clocked(lambda name=name: peers.load(name, request["encoding"], Path(request["folder"])))
        if "error" not in outcome:
            loaded[name] = peer
    peers.sample([])  # imports NumPy, once for all forks
    gc.collect()
    gc.freeze()  # so that the collections between the clocks are short
    return loaded


def request_text(request: Outcome) -> str:
    return Path(request["text"]).read_bytes().decode()


PHASES = {"load": load, "single": single, "batch": batch, "adversarial": adversarial}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps(PHASES[asked["phase"]](asked)))
