// A figure over two axes.

const SHADES = 16;
const MOST_VALUES = 100;

const heat = {
  x: null,
  y: null,
  figure: null,
  take: "max",
  log: false,
  only: new Map(),
  cells: [],
};

const TAKES = {
  max: { text: "largest", of: largest },
  mean: { text: "mean", of: (values) => values.reduce((a, b) => a + b, 0) / values.length },
  min: { text: "smallest", of: smallest },
};

function drawHeat() {
  const body = bodyOf("map");
  if (varying.length === 0 || figuresAll.length === 0) {
    body.replaceChildren(
      el(
        "p",
        {},
        figuresAll.length === 0
          ? "No job has a result yet."
          : "Nothing varies, so there is nothing to map.",
      ),
    );
    return;
  }
  heat.figure =
    ["drops", "pause_time_fraction", "peak_egress_bytes"]
      .filter(happened)
      .map((name) => byName.get(name))[0] || figuresAll[0];
  const settings = free.filter((axis) => axis.kind !== "repetition");
  const telling = new Map(settings.map((axis) => [axis, told(heat.figure, axis)]));
  settings.sort((a, b) => telling.get(b) - telling.get(a) || b.values.length - a.values.length);
  // Of the two that tell most the one with more values goes across.
  const first = settings.slice(0, 2).sort((a, b) => b.values.length - a.values.length);
  const candidates = first.concat(
    settings.slice(2),
    varying.filter((axis) => !settings.includes(axis)),
  );
  heat.x = candidates[0];
  heat.y = candidates[1] || null;
  heat.log = wantsLog();
  const controls = el("div", { class: "controls" });
  const caption = el("p", { class: "caption", id: "heat-caption" });
  const plot = el("div", { class: "scroll", id: "heat-plot" });
  const legend = el("div", { class: "legend", id: "heat-legend" });
  const readout = el("p", { class: "readout", id: "heat-readout", "aria-live": "polite" });
  Object.assign(heat, { controls, caption, plot, legend, readout });
  body.replaceChildren(controls, caption, plot, readout, legend);
  heatControls();
  onWidth(plot, renderHeat);
}

// How much of the spread of a figure an axis accounts for, from 0 to 1.
function told(figure, axis) {
  const groups = axis.values.map(() => [0, 0]);
  let [sum, squares, number] = [0, 0, 0];
  for (let point = 0; point < pointCount; point += 1) {
    const value = valueOf(figure, point);
    if (value === null) continue;
    const group = groups[axis.codes[point]];
    group[0] += Number(value);
    group[1] += 1;
    sum += Number(value);
    squares += Number(value) * Number(value);
    number += 1;
  }
  if (number === 0) return 0;
  const spread = squares - (sum * sum) / number;
  const between =
    groups.reduce((total, [part, n]) => total + (n ? (part * part) / n : 0), 0) -
    (sum * sum) / number;
  return spread > 0 ? between / spread : 0;
}

// Whether values spread over more than two powers of ten.
function wantsLog() {
  const values = heat.figure.values.filter((value) => Number(value) > 0).map(Number);
  if (values.length === 0) return false;
  let low = Infinity;
  let high = 0;
  values.forEach((value) => {
    low = Math.min(low, value);
    high = Math.max(high, value);
  });
  return high / low > 200;
}

function heatControls() {
  const list = (other) =>
    varying.map((axis, index) => [index, axis.name]).filter(([index]) => varying[index] !== other);
  const again = () => {
    heatControls();
    renderHeat(heat.plot.clientWidth);
  };
  const others = free.filter((axis) => axis !== heat.x && axis !== heat.y);
  [...heat.only.keys()]
    .filter((axis) => !others.includes(axis))
    .forEach((axis) => heat.only.delete(axis));
  replaceControls(heat.controls, [
    field(
      "figure",
      choice(
        "heat-figure",
        figuresAll.map((figure) => [figure.name, figure.label]),
        heat.figure.name,
        (name) => {
          heat.figure = byName.get(name);
          heat.log = wantsLog();
          if (name === "lossy") heat.take = "mean";
          again();
        },
      ),
    ),
    field(
      "of several jobs",
      choice(
        "heat-take",
        Object.keys(TAKES).map((key) => [key, TAKES[key].text]),
        heat.take,
        (key) => {
          heat.take = key;
          again();
        },
      ),
    ),
    field(
      "across",
      choice("heat-x", list(heat.y), varying.indexOf(heat.x), (index) => {
        heat.x = varying[index];
        again();
      }),
    ),
    field(
      "up",
      choice(
        "heat-y",
        [[-1, "(nothing)"]].concat(list(heat.x)),
        varying.indexOf(heat.y),
        (index) => {
          heat.y = varying[index] || null;
          again();
        },
      ),
    ),
    others.map((axis) =>
      field(
        axis.name,
        choice(
          "heat-only-" + axis.name,
          [["", "all"]].concat(axis.values.map((value, code) => [code, value])),
          heat.only.has(axis) ? heat.only.get(axis) : "",
          (code) => {
            if (code === "") heat.only.delete(axis);
            else heat.only.set(axis, Number(code));
            again();
          },
        ),
      ),
    ),
    field(
      "shades by powers of ten",
      el("input", {
        type: "checkbox",
        id: "heat-log",
        checked: heat.log,
        onchange: (event) => {
          heat.log = event.target.checked;
          again();
        },
      }),
      "check",
    ),
  ]);
}

// Neighbouring values go together where there are too many to show.
function bins(axis) {
  if (!axis) return { count: 1, of: () => 0, text: () => "", together: 1 };
  const together = Math.ceil(axis.values.length / MOST_VALUES);
  const text = (bin) => {
    const first = bin * together;
    const last = Math.min(first + together, axis.values.length) - 1;
    return first === last ? axis.values[first] : axis.values[first] + " to " + axis.values[last];
  };
  return {
    count: Math.ceil(axis.values.length / together),
    of: (point) => Math.floor(axis.codes[point] / together),
    text,
    together,
  };
}

function heatCells(x, y) {
  const cells = Array.from({ length: x.count * y.count }, () => ({
    values: [],
    raw: [],
    points: 0,
    jobs: new Set(),
    without: new Map(),
  }));
  for (let point = 0; point < pointCount; point += 1) {
    if ([...heat.only].some(([axis, code]) => axis.codes[point] !== code)) continue;
    const cell = cells[y.of(point) * x.count + x.of(point)];
    const job = points.job[point];
    cell.points += 1;
    // Points that share a job count once.
    if (job !== null && cell.jobs.has(job)) continue;
    if (job !== null) cell.jobs.add(job);
    const value = valueOf(heat.figure, point);
    if (value === null) {
      const status = statusOf(point);
      cell.without.set(status, (cell.without.get(status) || 0) + 1);
    } else {
      cell.values.push(Number(value));
      cell.raw.push(value);
    }
  }
  cells.forEach((cell) => {
    if (cell.values.length === 0) return;
    cell.value = TAKES[heat.take].of(cell.values);
    // As written, where it is one of the values.
    const place = cell.values.indexOf(cell.value);
    cell.exact = place >= 0 ? cell.raw[place] : cell.value;
  });
  return cells;
}

function renderHeat(width) {
  const { figure } = heat;
  const x = bins(heat.x);
  const y = bins(heat.y);
  const cells = heatCells(x, y);
  const known = cells.filter((cell) => cell.value !== undefined).map((cell) => cell.value);
  const low = smallest(known);
  const high = largest(known);
  const least = smallest(known.filter((value) => value > 0));
  // From 0 unless all values are close together: a shade is then a size.
  const from = low >= 0 && (low < high / 2 || /^drop|^lossy/.test(figure.name)) ? 0 : low;
  const logs = heat.log && low >= 0 && Number.isFinite(least);
  const shade = (value) => {
    if (high === from || (logs && value === 0))
      return value > 0 && high > 0 && from === 0 ? SHADES - 1 : 0;
    const share = logs
      ? high === least
        ? 1
        : 0.08 + (0.92 * Math.log(value / least)) / Math.log(high / least)
      : (value - from) / (high - from);
    // What is not 0 never has the shade of 0.
    const lowest = from === 0 && value > 0 ? 1 : 0;
    return Math.max(lowest, Math.min(SHADES - 1, Math.floor(share * SHADES)));
  };
  const text = (value) => short(value, figure.unit, figure);

  // Room: labels of rows at the left, of columns below.
  const rowLabels = Array.from({ length: y.count }, (_, row) => y.text(row));
  const columnLabels = Array.from({ length: x.count }, (_, column) => x.text(column));
  const left = heat.y
    ? Math.min(
        Math.max(...rowLabels.map((label) => widthOf(label))) + 12,
        Math.max(70, width * 0.3),
      )
    : 0;
  const widest = Math.max(0, largest(known.map((value) => widthOf(text(value)))));
  const room = width - left - 2;
  const cellWidth = Math.max(
    room / x.count >= widest + 8
      ? Math.min(room / x.count, 110)
      : Math.min(Math.max(room / x.count, 9), 110),
    9,
  );
  const cellHeight = y.count > 40 ? 16 : y.count > 16 ? 22 : 32;
  const top = heat.y ? 24 : 4;
  const longest = Math.max(...columnLabels.map((label) => widthOf(label)));
  const upright = longest + 8 <= cellWidth;
  const nth = upright ? 1 : Math.ceil(14 / cellWidth);
  const below = (upright ? 22 : Math.min(longest, 130) * 0.77 + 20) + 22;
  const height = top + cellHeight * y.count + below;
  const whole = Math.max(
    left + cellWidth * x.count + (upright ? 2 : 12),
    left + widthOf(heat.x.name) + 2,
  );
  const numbers = widest + 6 <= cellWidth && cellHeight >= 16;

  const chart = draw("svg", {
    width: whole,
    height,
    viewBox: "0 0 " + whole + " " + height,
    tabindex: 0,
    role: "img",
    id: "heat-svg",
    "aria-label": "Heat map of " + figure.label + "; the arrow keys walk over its cells",
  });
  chart.append(
    draw(
      "defs",
      {},
      draw(
        "pattern",
        {
          id: "hatch",
          width: 6,
          height: 6,
          patternUnits: "userSpaceOnUse",
          patternTransform: "rotate(45)",
        },
        draw("rect", { width: 6, height: 6, style: "fill: var(--faint)" }),
        draw("line", { y2: 6, style: "stroke: var(--soft); stroke-width: 1.5" }),
      ),
    ),
  );
  if (heat.y)
    chart.append(draw("text", { x: 0, y: 13, class: "soft" }, "↑ " + cut(heat.y.name, whole - 20)));
  const mark = draw("rect", {
    class: "mark",
    width: cellWidth,
    height: cellHeight,
    visibility: "hidden",
  });
  cells.forEach((cell, index) => {
    const column = index % x.count;
    const row = Math.floor(index / x.count);
    // Small values of an axis that goes up are at the bottom.
    Object.assign(cell, {
      column,
      row,
      x: left + column * cellWidth,
      y: top + (y.count - 1 - row) * cellHeight,
    });
    const empty = cell.value === undefined;
    const kind = !empty ? "q" + shade(cell.value) : cell.points === 0 ? "out" : "none";
    chart.append(
      draw("rect", {
        class: "cell " + kind,
        x: cell.x,
        y: cell.y,
        width: cellWidth,
        height: cellHeight,
        "data-cell": index,
        "data-value": empty ? null : cell.exact,
      }),
    );
    if (numbers && !empty) {
      chart.append(
        draw(
          "text",
          {
            class: "t" + shade(cell.value),
            x: cell.x + cellWidth / 2,
            y: cell.y + cellHeight / 2 + 4,
            "text-anchor": "middle",
            "pointer-events": "none",
          },
          text(cell.value),
        ),
      );
    }
  });
  rowLabels.forEach((label, row) => {
    const at = top + (y.count - 1 - row) * cellHeight + cellHeight / 2 + 4;
    if (heat.y && (cellHeight >= 14 || row % 2 === 0))
      chart.append(
        draw("text", { x: left - 8, y: at, "text-anchor": "end" }, cut(label, left - 10)),
      );
  });
  columnLabels.forEach((label, column) => {
    if (column % nth !== 0) return;
    const at = left + (column + 0.5) * cellWidth;
    const y0 = top + cellHeight * y.count;
    chart.append(
      upright
        ? draw("text", { x: at, y: y0 + 16, "text-anchor": "middle" }, label)
        : draw(
            "text",
            {
              transform: "translate(" + (at + 4) + " " + (y0 + 12) + ") rotate(-50)",
              "text-anchor": "end",
            },
            cut(label, 130),
          ),
    );
  });
  chart.append(draw("text", { x: left, y: height - 6, class: "soft" }, heat.x.name + " →"), mark);
  heat.plot.replaceChildren(chart);
  Object.assign(heat, { cells, mark, shape: { x, y, columns: x.count, rows: y.count } });
  followHeat(chart);
  heatCaption(x, y);
  heatLegend(known, from, logs ? least : null, high, cells);
}

function heatCaption(x, y) {
  const parts = [...heat.only].map(([axis, code]) => axis.name + " = " + axis.values[code]);
  const most = largest(heat.cells.map((cell) => cell.values.length));
  const several =
    most > 1 ? ", " + TAKES[heat.take].text + " of up to " + count(most, "job") + " a cell" : "";
  const together = [
    [heat.x, x],
    [heat.y, y],
  ]
    .filter(([axis, bin]) => axis && bin.together > 1)
    .map(([axis, bin]) => bin.together + " neighbouring values of " + axis.name + " in a cell");
  heat.caption.replaceChildren(
    el("b", {}, heat.figure.label),
    several + (parts.length ? ", at " + parts.join(", ") : "") + ". ",
    el(
      "span",
      { class: "soft" },
      heat.figure.description + (together.length ? "; " + together.join("; ") : "") + ".",
    ),
  );
}

function heatLegend(known, from, least, high, cells) {
  const parts = [];
  const bar = draw("svg", { width: 160, height: 12, "aria-hidden": "true" });
  for (let shade = 0; shade < SHADES; shade += 1)
    bar.append(draw("rect", { class: "q" + shade, x: shade * 10, width: 10.5, height: 12 }));
  const text = (value) => short(value, heat.figure.unit, heat.figure);
  if (known.length && from === high) parts.push(el("span", {}, "all " + text(high)));
  else if (known.length)
    parts.push(
      el(
        "span",
        {},
        least === null ? text(from) : "0, " + text(least),
        bar,
        text(high) + (least === null ? "" : ", by powers of ten"),
      ),
    );
  if (cells.some((cell) => cell.value === undefined && cell.points > 0)) {
    const swatch = draw(
      "svg",
      { width: 14, height: 12, "aria-hidden": "true" },
      draw("rect", { class: "cell none", width: 14, height: 12 }),
    );
    parts.push(el("span", {}, swatch, "no value: infeasible, failed, excluded or outstanding"));
  }
  heat.legend.replaceChildren(...parts);
}

function heatPairs(cell) {
  const { figure } = heat;
  const pairs = [];
  if (heat.y) pairs.push([heat.y.name, heat.shape.y.text(cell.row)]);
  pairs.push([heat.x.name, heat.shape.x.text(cell.column)]);
  pairs.push([
    figure.label,
    cell.value === undefined ? "no value" : exact(cell.exact, figure.unit, figure),
  ]);
  if (cell.values.length > 1)
    pairs.push([
      "smallest, largest",
      short(smallest(cell.values), figure.unit, figure) +
        ", " +
        short(largest(cell.values), figure.unit, figure),
    ]);
  pairs.push(["jobs", thousands(cell.values.length)]);
  cell.without.forEach((number, status) => pairs.push([status, thousands(number)]));
  return pairs;
}

function followHeat(chart) {
  let current = null;
  const show = (cell, x, y) => {
    current = cell;
    heat.mark.setAttribute("x", cell.x);
    heat.mark.setAttribute("y", cell.y);
    heat.mark.setAttribute("visibility", "visible");
    if (x === undefined) {
      const box = chart.getBoundingClientRect();
      x = box.left + cell.x + 20;
      y = box.top + cell.y + 10;
      heat.readout.textContent = heatPairs(cell)
        .map(([name, value]) => name + " " + value)
        .join(", ");
    }
    showTip(x, y, rowsOfTip(heatPairs(cell)));
  };
  const leave = () => {
    heat.mark.setAttribute("visibility", "hidden");
    hideTip();
  };
  const cellOf = (event) =>
    heat.cells[event.target.getAttribute && event.target.getAttribute("data-cell")];
  chart.addEventListener("pointermove", (event) => {
    const cell = cellOf(event);
    if (cell) show(cell, event.clientX, event.clientY);
    else leave();
  });
  chart.addEventListener("pointerleave", leave);
  chart.addEventListener("blur", leave);
  const open = (cell) =>
    wires.onlyCell(
      [
        [heat.x, heat.shape.x, cell.column],
        [heat.y, heat.shape.y, cell.row],
      ],
      heat.only,
    );
  chart.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (cell) open(cell);
  });
  chart.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[
      event.key
    ];
    if (event.key === "Enter" && current) open(current);
    if (event.key === "Escape") leave();
    if (!move) return;
    event.preventDefault();
    const { columns, rows } = heat.shape;
    const column = current ? Math.min(columns - 1, Math.max(0, current.column + move[0])) : 0;
    const row = current ? Math.min(rows - 1, Math.max(0, current.row + move[1])) : rows - 1;
    show(heat.cells[row * columns + column]);
  });
}
