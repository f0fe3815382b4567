// Drops by reason: in all, and along an axis or at the worst points.

const MOST_BARS = 30;

const dropsState = { along: null };

function reasonClass(column) {
  return "r" + (reasons.indexOf(column) % 7);
}

const reasonName = (column) => plainName(column.name.replace(/^drops_/, ""));

function drawDrops() {
  const body = bodyOf("drops");
  const ran = points.job.filter(
    (job) => job !== null && dropsColumn && dropsColumn.values[job] !== null,
  ).length;
  const totals = reasons.map((column) =>
    column.values.reduce((sum, value) => sum + Number(value || 0), 0),
  );
  const shown = reasons.filter((_, index) => totals[index] > 0);
  const all = totals.reduce((a, b) => a + b, 0);
  if (all === 0) {
    body.replaceChildren(
      el(
        "p",
        {},
        ran === 0
          ? "No job ran to an end."
          : "No packet was dropped at the " + count(ran, "point") + " that ran.",
      ),
    );
    return;
  }
  const legend = el(
    "div",
    { class: "legend" },
    shown.map((column) => {
      const total = totals[reasons.indexOf(column)];
      return el(
        "span",
        { title: column.description, "data-reason": column.name },
        el("i", { class: "swatch " + reasonClass(column) }),
        reasonName(column) +
          " " +
          thousands(total) +
          " (" +
          short(total / all, "1", { name: "_share" }) +
          ")",
      );
    }),
  );
  const chart = el("div", { class: "chart sub" });
  const options = [["", "the worst points"]].concat(
    varying.map((axis, index) => [index, axis.name]),
  );
  const start = free.find((axis) => axis.kind !== "repetition");
  dropsState.along = start ? varying.indexOf(start) : "";
  const control = el(
    "div",
    { class: "controls" },
    field(
      "along",
      choice("drops-along", options, dropsState.along, (value) => {
        dropsState.along = value;
        redraw(chart.clientWidth);
      }),
      "wide",
    ),
  );
  const redraw = (width) => chart.replaceChildren(...bars(width, shown));
  body.replaceChildren(
    el(
      "p",
      { class: "caption" },
      el("b", {}, count(all, "packet")),
      " dropped in all jobs, a warm-up left out.",
    ),
    legend,
    el("div", { class: "sub" }, control),
    chart,
  );
  onWidth(chart, redraw);
}

// Name, drops by reason, of each bar.
function barsOf(shown) {
  const seen = (point) => points.job[point] !== null;
  if (dropsState.along === "") {
    const list = [];
    const taken = new Set();
    for (let point = 0; point < pointCount; point += 1) {
      // Points that share a job dropped its packets once.
      if (!seen(point) || taken.has(points.job[point])) continue;
      taken.add(points.job[point]);
      const parts = shown.map((column) => Number(valueOf(column, point) || 0));
      if (parts.some((n) => n > 0))
        list.push({ name: nameOf(point), parts, order: -parts.reduce((a, b) => a + b, 0) });
    }
    return list.sort((a, b) => a.order - b.order);
  }
  const axis = varying[Number(dropsState.along)];
  const list = axis.values.map((name) => ({ name, parts: shown.map(() => 0), jobs: new Set() }));
  for (let point = 0; point < pointCount; point += 1) {
    const bar = list[axis.codes[point]];
    if (!seen(point) || bar.jobs.has(points.job[point])) continue;
    bar.jobs.add(points.job[point]);
    shown.forEach((column, index) => {
      bar.parts[index] += Number(valueOf(column, point) || 0);
    });
  }
  return list;
}

function bars(width, shown) {
  const all = barsOf(shown);
  const list = all.slice(0, MOST_BARS);
  const sum = (bar) => bar.parts.reduce((a, b) => a + b, 0);
  const most = Math.max(...list.map(sum), 1);
  const worst = dropsState.along === "";
  // Long names of points go above their bar.
  const longest = Math.max(...list.map((bar) => widthOf(bar.name))) + 10;
  const above = worst || longest > width * 0.35;
  const label = above ? 0 : Math.min(220, longest);
  const right = widthOf(thousands(most)) + 12;
  const step = above ? 38 : 26;
  const room = Math.max(40, width - label - right);
  const chart = draw("svg", {
    width,
    height: list.length * step,
    viewBox: "0 0 " + width + " " + list.length * step,
    role: "img",
    "aria-label": "Drops by reason",
  });
  list.forEach((bar, index) => {
    const y = index * step + (above ? 18 : 4);
    chart.append(
      draw(
        "text",
        {
          x: above ? 0 : label - 8,
          y: above ? y - 5 : y + 13,
          "text-anchor": above ? "start" : "end",
        },
        cut(bar.name, above ? width : label - 8),
      ),
    );
    let x = label;
    bar.parts.forEach((packets, part) => {
      const wide = (packets / most) * room;
      if (packets === 0) return;
      const column = shown[part];
      chart.append(
        draw("rect", {
          x,
          y,
          width: Math.max(wide, 1),
          height: 16,
          class: reasonClass(column),
          "data-packets": packets,
          onpointermove: (event) =>
            showTip(
              event.clientX,
              event.clientY,
              el("b", {}, bar.name),
              rowsOfTip([
                [reasonName(column), count(packets, "packet")],
                ["of", count(sum(bar), "packet")],
              ]),
            ),
          onpointerleave: hideTip,
        }),
      );
      x += wide;
    });
    chart.append(
      draw(
        "text",
        { x: x + 6, y: y + 13, class: sum(bar) === 0 ? "soft" : "" },
        thousands(sum(bar)),
      ),
    );
  });
  const more = all.length - list.length;
  const along = el(
    "p",
    { class: "printed soft small" },
    worst ? "The worst points" : "By " + varying[Number(dropsState.along)].name,
  );
  return [
    along,
    chart,
    more > 0 &&
      el(
        "p",
        { class: "soft small" },
        "and " + thousands(more) + " more; the table of points has all of them.",
      ),
  ].filter(Boolean);
}
