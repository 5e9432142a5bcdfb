"""Tables and pictures of what compare.py has measured."""
import math
import statistics

import picture
from cases import cases, sweep_cases, title_of

FULL, ELEMENTWISE, TUNED = "sinter", "sinter, elementwise fusion", "sinter, tuned"
PEERS = ("torch eager", "torch.compile", "JAX", "CuPy")

METHOD = {
    "cuda": "Milliseconds are device time by CUDA events, with 256 MB written before each repetition so that nothing is\n"
            "left in the last-level cache: the mean over the rounds of the median of each.",
    "cpu": "Milliseconds are wall time, with other memory read before each repetition so that nothing is left in the\n"
           "caches: the mean over the rounds of the median of each.",
}
CHECKED = ("% of copy is of the bandwidth of a copy (read plus written) in the same run, by the bytes that must move: every\n"
           "input and output once. In brackets a time over sinter's, above 1 where sinter is faster. Every result is compared\n"
           "with the formula in double precision; one that is wrong is marked so.")


def digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def milliseconds(entry, peer):
    return entry["peers"].get(peer, {}).get("ms")


def own(entry):
    return entry["peers"].get(FULL, {})


def tuning(run, most=3):
    """Lines that say where the schedules chosen untimed are slower than timed ones by more than so many percent."""
    gains = {e["title"]: 100 * (own(e)["ms"] / milliseconds(e, TUNED) - 1)
             for e in run["results"] if own(e).get("ms") and milliseconds(e, TUNED)}
    if not gains:
        return []
    behind = [f"  {title}: {gain:.1f} %" for title, gain in gains.items() if gain > most]
    return [f"untuned is within {most} % of tuned in {len(gains) - len(behind)} of {len(gains)} cases" +
            (", and not in" if behind else ""), *behind]


def copy_gbps(results):
    """The copy bandwidth of the whole run."""
    rates = [own(e)["copy_gbps"] for e in results if "copy_gbps" in own(e)]
    return statistics.median(rates) if rates else None


def gbps(entry, ms):
    size = own(entry).get("bytes")
    return size / ms / 1e6 if size and ms else None


def percent(entry, ms, copy):
    rate = gbps(entry, ms)
    return 100 * rate / copy if rate and copy else None


def best_peer(entry):
    """The fastest of the others whose result is right: its name and its time."""
    right = [(r["ms"], p) for p, r in entry["peers"].items() if p in PEERS and "ms" in r and r["error"] <= 1]
    return min(right, default=(None, None))


def judged(entry, asked, copy):
    """[(what is asked, what is reached, met)] for one case; met is None where it could not be measured."""
    ms, rows = own(entry).get("ms"), []

    def add(wanted, reached, unit, shown=digits, at_most=False):
        met = None if reached is None else reached <= wanted if at_most else reached >= wanted
        text = f"{'<=' if at_most else '>='} {shown(wanted)}{unit}"
        got = "not measured" if reached is None else shown(reached)
        if met is False and got == shown(wanted):  # what rounding hides
            got = f"{reached:.4g}"
        rows.append((text, got if reached is None else got + unit, met))

    def times(other):
        return other / ms if other and ms else None
    if asked.percent:
        add(asked.percent, percent(entry, ms, copy), " % of copy", lambda v: f"{v:.1f}".removesuffix(".0"))
    if asked.gbps:
        add(asked.gbps, gbps(entry, ms), " GB/s")
    if asked.best:
        add(asked.best, times(best_peer(entry)[0]), "x the best peer", lambda v: f"{v:.2f}")
    if asked.compiled:
        add(asked.compiled, times(milliseconds(entry, "torch.compile")), "x torch.compile", lambda v: f"{v:.2f}")
    if asked.launches:
        add(asked.launches, own(entry).get("fused_launches"), " launches", str, at_most=True)
    return rows


def cell(entry, peer):
    """Milliseconds, and in brackets how many times sinter's they are."""
    result, ms = entry["peers"].get(peer, {}), own(entry).get("ms")
    if "failed" in result:
        return "failed"
    if "ms" not in result:
        return ""
    ratio = f" ({result['ms'] / ms:.2f})" if ms and peer != FULL else ""
    return digits(result["ms"]) + ratio + ("" if result["error"] <= 1 else ", wrong")


def rate_cell(entry, copy):
    ms = own(entry).get("ms")
    if own(entry).get("tflops") and ms:
        return f"{own(entry)['tflops']:.0f} TFLOP/s"
    share = percent(entry, ms, copy)
    return f"{share:.1f}" if share else ""


def markdown_table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + ["| " + " | ".join(r) + " |" for r in rows]


def page(title, run, command, body):
    written_by = " and ".join(f"`{one}`" for one in command.split("; "))
    lines = [f"# {title}", "", f"Written by {written_by}.", ""]
    lines += [f"- {name}: {value}" for name, value in run["machine"].items()]
    copy = copy_gbps(run["results"])
    if copy:
        lines.append(f"- copy bandwidth, read plus written: {copy:.0f} GB/s (median over the cases)")
    return "\n".join(lines + ["", METHOD[run["device"]], "", CHECKED, ""] + body) + "\n"


def asked_of(run):
    listed = sweep_cases(run["device"]) if run["sweep"] else cases(run["device"])
    return {title_of(name, dtype, lengths): asked for name, dtype, lengths, asked in listed}


def present(results, peers):
    return [p for p in peers if any(p in e["peers"] for e in results)]


def summary(run):
    """Counts of figures met and missed, and what was missed, as lines."""
    asked, copy, met, missed, unknown = asked_of(run), copy_gbps(run["results"]), 0, [], 0
    for entry in run["results"]:
        if entry["title"] not in asked:
            continue
        for wanted, reached, good in judged(entry, asked[entry["title"]], copy):
            met, unknown = met + (good is True), unknown + (good is None)
            if good is False:
                missed.append(f"{entry['title']}: {wanted} asked, {reached} reached")
    return [f"{met} figures met, {len(missed)} missed, {unknown} not measured", *missed]


def suite_page(run, command, picture_file):
    results, copy, asked = run["results"], copy_gbps(run["results"]), asked_of(run)
    peers = present(results, PEERS)
    rows = []
    for entry in results:
        verdicts = judged(entry, asked[entry["title"]], copy) if entry["title"] in asked else []
        words = {True: "met", False: "missed", None: "?"}
        ms, name = best_peer(entry)
        ratio = f"{ms / own(entry)['ms']:.2f} ({name})" if ms and "ms" in own(entry) else ""
        rows.append([entry["title"], cell(entry, FULL), rate_cell(entry, copy), *[cell(entry, p) for p in peers], ratio,
                     "; ".join(v[0] for v in verdicts), "; ".join(v[1] for v in verdicts),
                     "; ".join(words[v[2]] for v in verdicts),
                     digits(own(entry)["error"]) if "error" in own(entry) else ""])
    header = ["workload", "sinter ms", "% of copy", *[f"{p} ms" for p in peers], "times the best peer", "asked", "reached",
              "", "error, of what is allowed"]
    failures = [f"- {e['title']}: {p}: {r['failed']}" for e in results for p, r in e["peers"].items() if "failed" in r]
    body = [f"![% of copy by workload]({picture_file})", "", summary(run)[0] + ".", "", *markdown_table(header, rows)]
    if failures:
        body += ["", "What failed:", "", *failures]
    return page("sinter beside its peers", run, command, body)


def suite_picture(run):
    copy = copy_gbps(run["results"])
    bound = [e for e in run["results"] if own(e).get("bytes") and not own(e).get("tflops")]
    names = [FULL, *present(bound, PEERS)]
    values = {e["title"]: {p: percent(e, milliseconds(e, p), copy) for p in names} for e in bound}
    return picture.bars("% of the copy bandwidth", list(values), names, values, most=108 if run["device"] == "cuda" else None)


def ablation_page(run, command, picture_file):
    rows = []
    for entry in run["results"]:
        facts, part = own(entry), entry["peers"].get(ELEMENTWISE, {})
        if "eager_ms" not in facts:
            continue
        ms, launches = facts["ms"], [facts["eager_launches"], part.get("fused_launches", "?"), facts["fused_launches"]]
        rows.append([entry["title"], f"{digits(facts['eager_ms'])} ({facts['eager_ms'] / ms:.2f})", cell(entry, ELEMENTWISE),
                     digits(ms), ", ".join(map(str, launches))])
    text = ["What fusion brings, by sinter alone. *eager* runs one kernel per operation, in `strict`, where a fold has one",
            "order and few of them do not keep all processors busy. *elementwise* fuses elementwise operations with each",
            "other, and every reduction, gather and the like is a kernel of its own, as MLX's and ArrayFire's compilers do",
            "it (`SINTER_FUSION=elementwise`). *full* is what sinter does.", "",
            f"![% of copy by fusion]({picture_file})", ""]
    header = ["workload", "eager ms", "elementwise ms", "full ms", "launches of the three"]
    return page("What fusion brings", run, command, text + markdown_table(header, rows))


def ablation_picture(run):
    copy, values = copy_gbps(run["results"]), {}
    for e in run["results"]:
        if "eager_ms" in own(e) and not own(e).get("tflops"):
            values[e["title"]] = {"full": percent(e, own(e)["ms"], copy),
                                  "elementwise": percent(e, milliseconds(e, ELEMENTWISE), copy),
                                  "eager": percent(e, own(e)["eager_ms"], copy)}
    return picture.bars("% of the copy bandwidth, by the bytes that full fusion moves", list(values),
                        ["full", "elementwise", "eager"], values, most=108 if run["device"] == "cuda" else None)


def sweep_table(run):
    """{(workload, dtype): {cols: entry}}"""
    curves = {}
    for entry in run["results"]:
        curves.setdefault((entry["name"], entry["dtype"]), {})[entry["lengths"]["cols"]] = entry
    return curves


def sweep_page(run, command, picture_file):
    copy, curves = copy_gbps(run["results"]), sweep_table(run)
    others = present(run["results"], PEERS)
    header = ["row length"]
    for name, dtype in curves:
        header += [f"{name} {dtype}: ms", "% of copy", *[f"{p} ms" for p in others]]
    rows = []
    for cols in sorted({c for curve in curves.values() for c in curve}):
        row = [str(cols)]
        for curve in curves.values():
            entry = curve.get(cols)
            row += ([cell(entry, FULL), rate_cell(entry, copy), *[cell(entry, p) for p in others]] if entry
                    else [""] * (2 + len(others)))
        rows.append(row)
    size = "half a gigabyte" if run["device"] == "cuda" else "64 MiB"
    asked = ("Asked of row lengths from 256 on: 95 % of copy up to 16,384, and 88 % beyond." if run["device"] == "cuda"
             else "")
    lines = summary(run)
    body = [f"Rows of every length, in an input of {size}. {asked}", "", f"![% of copy over row length]({picture_file})", "",
            lines[0] + ".", "", *[f"- {line}" for line in lines[1:]], "", *markdown_table(header, rows)]
    return page("Softmax and rmsnorm over row lengths", run, command, body)


def sweep_picture(run):
    copy, series = copy_gbps(run["results"]), {}
    for number, ((name, dtype), curve) in enumerate(sweep_table(run).items()):
        for peer, dashed in ((FULL, False), ("torch.compile", True)):
            points = [(cols, percent(e, milliseconds(e, peer), copy)) for cols, e in curve.items()]
            points = [(x, y) for x, y in points if y is not None]
            if points:
                series[f"{name} {dtype}" if peer == FULL else f"{peer}, {name} {dtype}"] = (points, number, dashed)
    marks = [(256, 16384, 95), (16384, math.inf, 88)] if run["device"] == "cuda" else []
    most = 110 if run["device"] == "cuda" else max((y for p, _, _ in series.values() for _, y in p), default=100) * 1.05
    title = "solid: sinter" + (", dashed: torch.compile" if any(d for _, _, d in series.values()) else "")
    title += "; dotted: what is asked" if marks else ""
    return picture.lines(title, series, most, marks, "row length", "% of the copy bandwidth")
