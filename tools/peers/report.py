"""Medians, ratios, tables. A ratio is ours over the best peer: the one with the highest median in that measure."""
import statistics

OURS = "firebrick"


def summary(rounds: list[dict[str, dict[str, float]]], variants: dict[str, dict[str, str]]) -> dict[str, dict]:
    """rounds: one per round, {engine: {measure: tokens per second}}; variants: {engine: {measure: options}}. The result
    is {measure: {engines: {name: {median, all, variant}}, best_peer, ratio, ratio_range}}."""
    measures = list(dict.fromkeys(m for one in rounds for figures in one.values() for m in figures))
    engines = list(dict.fromkeys(engine for one in rounds for engine in one))
    result = {}
    for measure in measures:
        figures = {}
        for engine in engines:
            values = [one[engine][measure] for one in rounds if measure in one.get(engine, {})]
            if values:
                figures[engine] = {"median": statistics.median(values), "all": values,
                                   "variant": variants.get(engine, {}).get(measure, "")}
        entry = {"engines": figures, "best_peer": None, "ratio": None, "ratio_range": None}
        peers = {engine: f["median"] for engine, f in figures.items() if engine != OURS}
        if peers and OURS in figures:
            best = max(peers, key=peers.get)
            paired = [one[OURS][measure] / one[best][measure] for one in rounds
                      if measure in one.get(OURS, {}) and measure in one.get(best, {})]
            entry |= {"best_peer": best, "ratio": figures[OURS]["median"] / peers[best],
                      "ratio_range": [min(paired), max(paired)] if paired else None}
        result[measure] = entry
    return result


def spelled(tps: float) -> str:
    return f"{tps:.0f}" if tps >= 100 else f"{tps:.1f}" if tps >= 10 else f"{tps:.2f}"


def table(model: str, measures: dict[str, dict], engines: list[str]) -> str:
    """A Markdown table of one model, tokens per second; the best peer in bold, its options behind it."""
    lines = [f"| {model}, tokens/s | " + " | ".join(engines) + " | ours / best peer |", "| --- " * (len(engines) + 2) + "|"]
    for measure, entry in measures.items():
        cells = []
        for engine in engines:
            figure = entry["engines"].get(engine)
            if not figure:
                cells.append("")
                continue
            cell = spelled(figure["median"])
            cell = f"**{cell}**" if engine == entry["best_peer"] else cell
            cells.append(cell + (f" ({figure['variant']})" if figure["variant"] else ""))
        ratio = ""
        if entry["ratio"] is not None:
            ratio = f"{entry['ratio']:.2f}"
            if entry["ratio_range"]:
                ratio += " ({:.2f} to {:.2f})".format(*entry["ratio_range"])
        lines.append(f"| {measure} | " + " | ".join(cells) + f" | {ratio} |")
    return "\n".join(lines)
