"""The README's pictures that are no plot of its own: made by the commands it shows.

`python tests/python/pictures.py` makes them again, in analysis/pictures; it needs the command
(POOLSWEEP, or target/debug/poolsweep) and Chromium. The tests compare what is there with what comes out.
"""

import html
import shlex
import tempfile
from pathlib import Path

from conftest import ROOT, poolsweep

FOLDER = ROOT / "analysis" / "pictures"

JOB = "07e79cd417eff5dc"
# What a terminal shows, by picture; each command stands in the README.
TERMINALS = {
    "size.svg": "poolsweep size --rate 400Gbps --delay 500ns --mtu 4000B",
    "explain.svg": f"poolsweep explain out/headroom {JOB}",
}
# What is on a page, by picture: the commands that make it, the page, the element.
PAGES = {
    "report-map.png": (
        ["poolsweep run sweeps/pools.yaml", "poolsweep report out/pools"],
        "out/pools/report.html",
        "#map",
    ),
    "report-time.png": (
        [
            "poolsweep run sweeps/headroom.yaml --set record.interval=500ns --out out/fine",
            f"poolsweep report out/fine --job {JOB}",
        ],
        "out/fine/report.html",
        "#time",
    ),
}
# Lines of a terminal's picture; more are counted.
LINES = 30
LETTER, LINE, EDGE = 7.2, 18, 16


def terminal(command, output):
    """A terminal as SVG, letter by letter where a terminal has it, whatever the font is."""
    lines = output.rstrip("\n").splitlines()
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], f"… {len(lines) - LINES + 1} more lines"]
    lines = [f"$ {command}", *lines]
    width = round(max(map(len, lines)) * LETTER + 2 * EDGE)
    height = len(lines) * LINE + 2 * EDGE
    rows = []
    for place, line in enumerate(lines):
        text = line.lstrip(" ")
        if not text:
            continue
        x = EDGE + (len(line) - len(text)) * LETTER
        y = EDGE + place * LINE + 13
        kind = ' class="said"' if place == 0 else ""
        rows.append(
            f'<text{kind} x="{x:.1f}" y="{y}" textLength="{len(text) * LETTER:.1f}" lengthAdjust="spacingAndGlyphs"'
            f' xml:space="preserve">{html.escape(text, quote=False)}</text>'
        )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
            "<style>text { font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #dce3ec }"
            " .said { fill: #8fc1f7 }</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#151c25"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def run(command, folder):
    """What a command of the README prints there."""
    program, *arguments = shlex.split(command)
    assert program == "poolsweep"
    return poolsweep(*arguments, cwd=folder)[0]


def lab(folder):
    """A folder as the README's reader has it, with the headroom sweep done."""
    (folder / "sweeps").symlink_to(ROOT / "sweeps")
    run("poolsweep run sweeps/headroom.yaml", folder)
    return folder


def take_pages(browser, folder, to):
    for name, (commands, page, element) in PAGES.items():
        for command in commands:
            run(command, folder)
        browser.open(folder / page, size=(1000, 900))
        browser.picture(to / name, element)


def main():
    import browser

    browser.install()
    with tempfile.TemporaryDirectory() as place, browser.Browser() as chromium:
        folder = lab(Path(place))
        for name, command in TERMINALS.items():
            (FOLDER / name).write_text(terminal(command, run(command, folder)))
        take_pages(chromium, folder, FOLDER)


if __name__ == "__main__":
    main()
