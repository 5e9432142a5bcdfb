#!/usr/bin/env python3
"""sinter beside torch eager, torch.compile, JAX and CuPy, in one run on the same numbers.

  compare.py --output PREFIX                the suite: PREFIX.md, PREFIX.svg, and the ablation: PREFIX-ablation.*
  compare.py --sweep --output PREFIX        softmax and rmsnorm over row lengths: PREFIX-sweep.md, PREFIX-sweep.svg
  compare.py --only 'softmax bf16' --peers sinter,compile
  compare.py --render PREFIX.json MORE.json --output PREFIX     writes the pages from what was measured before

All sides draw the same numbers by the same generator (samples/suite/draw.cpp). Every peer is prepared, called and
checked against the formula in double precision; then all are timed in turn, and in the opposite order in every other
round, so that a GPU's heat cancels out. Peers that are not installed are left out.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import sys
import time


import pages
from cases import Case, cases, sweep_cases, title_of
from peers import CupyPeer, JaxPeer, Sinter, TorchPeer

NAMES = ("sinter", "elementwise", "eager", "compile", "jax", "cupy")
MORE_NAMES = ("tuned",)  # only if asked for
REST_SECONDS = {True: 0.3, False: 0.05}  # before timing, by whether it is products, which heat a GPU


def find_tool(given):
    here = pathlib.Path(__file__).resolve().parent
    usual = [here / "sinter", here.parent.parent / "build/samples/sinter", shutil.which("sinter")]
    for place in [given] if given else usual:
        if place and os.access(place, os.X_OK):
            return str(place)
    sys.exit(f"compare.py: --sinter {given} is no program" if given
             else "compare.py: no sinter tool was found; name it with --sinter, or leave it out of --peers")


def open_peers(options, wanted):
    """The peers that are there: (title, object, function that prepares a case), and notes on the machine."""
    peers, notes = [], {}

    def add(titles, open_one):
        """titles: of the ways in which a peer is used, with what its `prepare` takes besides the case."""
        if not titles:
            return
        try:
            peer = open_one()
        except (ImportError, RuntimeError, OSError) as error:
            print(f"{', '.join(titles)}: left out: {error}", file=sys.stderr)
            return
        notes.update(peer.notes)
        for title, more in titles.items():
            peers.append((title, peer, lambda case, peer=peer, more=more: peer.prepare(case, *more)))

    if {"sinter", "elementwise", "tuned"} & set(wanted):
        tool = find_tool(options.sinter)
        seconds = (options.seconds,)
        if "sinter" in wanted:
            add({pages.FULL: seconds}, lambda: Sinter(tool, options.device, options.numerics, None,
                                                      not options.sweep, options.first_call))
        if "elementwise" in wanted:
            add({pages.ELEMENTWISE: seconds}, lambda: Sinter(tool, options.device, options.numerics, "elementwise"))
        if "tuned" in wanted:
            add({pages.TUNED: seconds}, lambda: Sinter(tool, options.device, options.numerics, tuned=True))
    add({title: (compiled,) for word, title, compiled in
         (("eager", "torch eager", False), ("compile", "torch.compile", True)) if word in wanted},
        lambda: TorchPeer(options.device))
    add({"JAX": ()} if "jax" in wanted else {}, lambda: JaxPeer(options.device))
    add({"CuPy": ()} if "cupy" in wanted else {}, lambda: CupyPeer(options.device))
    return peers, notes


def compare(case, peers, seconds, rounds):
    """What every peer does with a case: {title: {"ms", "error", ...} or {"failed"}}."""
    found, ready = {}, {}
    for title, _, prepare in peers:
        try:
            prepared = prepare(case)
            if prepared is None:  # the peer has no such dtype
                continue
            found[title] = prepared.facts()
            ready[title] = prepared
        except Exception as error:  # whatever a peer throws is its result
            found[title] = {"failed": f"{type(error).__name__}: {error}"[:300]}
    for number in range(rounds):
        for title in list(ready) if number % 2 == 0 else list(reversed(ready)):
            time.sleep(REST_SECONDS[case.workload.flops is not None])
            try:
                found[title].setdefault("ms_of_rounds", []).append(ready[title].median_ms(seconds))
            except Exception as error:
                found[title] = {"failed": f"{type(error).__name__}: {error}"[:300]}
                del ready[title]
    for result in found.values():
        if "ms_of_rounds" in result:
            result["ms"] = statistics.mean(result["ms_of_rounds"])
    ready.clear()
    for peer in dict.fromkeys(peer for _, peer, _ in peers):
        peer.free()
    return {"title": case.title, "name": case.name, "dtype": case.dtype, "lengths": case.lengths, "peers": found}


def show(entry, seconds):
    ms, parts = entry["peers"].get(pages.FULL, {}).get("ms"), []
    for title, result in entry["peers"].items():
        if "failed" in result:
            parts.append(f"{title} failed ({result['failed']})")
            continue
        ratio = f" ({result['ms'] / ms:.2f})" if ms and title != pages.FULL else ""
        wrong = "" if result["error"] <= 1 else f" WRONG by {result['error']:.3g}"
        parts.append(f"{title} {pages.digits(result['ms'])}{ratio}{wrong}")
    print(f"{entry['title']}: {', '.join(parts)} [{seconds:.1f} s]", flush=True)


def write_pages(run, prefix, command):
    """After every case, so that a run which is cut short leaves what it has measured."""
    if not prefix:
        return
    pathlib.Path(prefix).parent.mkdir(parents=True, exist_ok=True)
    name = pathlib.Path(prefix).name
    stem = "-sweep" if run["sweep"] else ""
    texts = {f"{stem}.json": json.dumps(run, indent=1) + "\n"}
    if run["sweep"]:
        texts["-sweep.md"] = pages.sweep_page(run, command, f"{name}-sweep.svg")
        texts["-sweep.svg"] = pages.sweep_picture(run)
    else:
        texts[".md"] = pages.suite_page(run, command, f"{name}.svg")
        texts[".svg"] = pages.suite_picture(run)
        texts["-ablation.md"] = pages.ablation_page(run, command, f"{name}-ablation.svg")
        texts["-ablation.svg"] = pages.ablation_picture(run)
    for end, text in texts.items():
        pathlib.Path(f"{prefix}{end}").write_text(text)


def command_of(options):
    words = ["samples/bench/compare.py"]
    for name in ("sweep", "only", "peers", "device", "numerics", "rounds"):
        value = getattr(options, name)
        if value is True:
            words.append(f"--{name}")
        elif value and value != options.defaults[name]:
            words.append(f"--{name} '{value}'" if re.search(r"[^\w.,=-]", str(value)) else f"--{name} {value}")
    return " ".join(words)


def render(options):
    """Pages of several files together; of a case that is in many, the last one counts."""
    runs = [json.loads(pathlib.Path(file).read_text()) for file in options.render]
    entries = {e["title"]: e for run in runs for e in run["results"]}
    order = list(pages.asked_of(runs[0]))
    results = sorted(entries.values(), key=lambda e: order.index(e["title"]) if e["title"] in order else len(order))
    machine = {key: value for run in runs for key, value in run["machine"].items()}
    commands = dict.fromkeys(command for run in runs for command in run["command"].split("; "))
    run = {**runs[0], "command": "; ".join(commands), "machine": machine, "results": results}
    write_pages(run, options.output, run["command"])
    print("\n".join(pages.summary(run)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose title has this somewhere; --list shows titles")
    parser.add_argument("--peers", default=",".join(NAMES), help="some of these; all of them unless given")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="where all of them run")
    parser.add_argument("--sweep", action="store_true", help="softmax and rmsnorm over row lengths")
    parser.add_argument("--output", metavar="PREFIX", help="of the files with the numbers, tables and pictures")
    parser.add_argument("--seconds", type=float, default=0.15, help="time for the repetitions of one peer, case and round")
    parser.add_argument("--rounds", type=int, default=2, help="how often every peer is timed")
    parser.add_argument("--most-seconds", type=float, help="starts no case after that time")
    parser.add_argument("--first-call", action="store_true", help="also times sinter's first calls, which takes seconds")
    parser.add_argument("--numerics", choices=["strict", "standard", "fast"], help="sinter's numeric mode")
    parser.add_argument("--sinter", help="the tool; else the one beside this file, in build/samples or on the PATH")
    parser.add_argument("--shrink", type=int, default=1, help="divides the lengths, to try this out")
    parser.add_argument("--list", action="store_true", help="prints the titles of the cases")
    parser.add_argument("--render", nargs="+", metavar="JSON", help="writes the pages of these files, measures nothing")
    options = parser.parse_args()
    options.defaults = {key: parser.get_default(key) for key in vars(options)}
    for word in options.peers.split(","):
        if word not in NAMES + MORE_NAMES:
            parser.error(f"--peers {word}: there are {', '.join(NAMES + MORE_NAMES)}")
    if options.sweep and options.peers == options.defaults["peers"]:
        options.peers = options.defaults["peers"] = "sinter,compile"
    try:
        re.compile(options.only)
    except re.error as error:
        parser.error(f"--only {options.only}: {error}")
    if options.rounds < 1:
        parser.error("--rounds: 1 or more")
    return options


def main():
    options = parse()
    if options.render:
        return render(options)
    listed = sweep_cases(options.device) if options.sweep else cases(options.device)
    listed = [c for c in listed if re.search(options.only, title_of(*c[:3]))]
    if options.list:
        return print("\n".join(title_of(*c[:3]) for c in listed))
    if not listed:
        sys.exit(f"compare.py: --only {options.only}: no case has that in its title; --list shows them")
    begin = time.monotonic()
    peers, notes = open_peers(options, options.peers.split(","))
    if not peers:
        sys.exit("compare.py: none of the peers is installed")
    notes["date"] = time.strftime("%Y-%m-%d", time.gmtime())
    command = command_of(options)
    run = {"device": options.device, "sweep": options.sweep, "command": command, "machine": notes, "results": []}
    for name, dtype, lengths, _ in listed:
        since = time.monotonic()
        if options.most_seconds and since - begin > options.most_seconds:
            print(f"stopped after {since - begin:.0f} s; the rest was not measured", flush=True)
            break
        if options.shrink > 1:
            lengths = {k: v if k == "layers" else max(v // options.shrink, 8) for k, v in lengths.items()}
        run["results"].append(compare(Case(name, dtype, lengths), peers, options.seconds, options.rounds))
        show(run["results"][-1], time.monotonic() - since)
        write_pages(run, options.output, command)
    for peer in dict.fromkeys(peer for _, peer, _ in peers):
        if isinstance(peer, Sinter):
            peer.close()
    print("\n".join(pages.summary(run) + pages.tuning(run)))
    wrong = [e["title"] for e in run["results"] for title in (pages.FULL, pages.ELEMENTWISE, pages.TUNED)
             if title in e["peers"] and not e["peers"][title].get("error", 2) <= 1]
    if wrong:
        sys.exit("compare.py: sinter failed, or was wrong, in: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
