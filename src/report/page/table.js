// The points as a table: sorted, filtered, only the rows in view in the document.

const ROW = 30;
const AROUND = 12;
const PRINTED = 200;

const table = {
  shown: [],
  sort: null,
  down: false,
  words: "",
  status: "",
  only: new Map(),
  jobs: null,
  cell: null,
  selected: null,
  columns: [],
};

// Columns of the table: key, head, text and number of a point.
function tableColumns() {
  const list = [
    {
      key: "status",
      head: "status",
      text: statusOf,
      number: (point) => STATUSES.indexOf(statusOf(point)),
    },
  ];
  const ofAxis = (axis) => ({
    key: "axis " + axis.name,
    head: axis.name,
    axis,
    right: axis.numbers.some((n) => n !== null),
    text: (point) => textOf(axis, point),
    number: (point) => axis.codes[point],
  });
  // Drops stand first: on a phone no more fits.
  if (dropsColumn) list.push(figureColumn(dropsColumn));
  free.forEach((axis) => list.push(ofAxis(axis)));
  const chosen = [
    "drops_without_pause",
    "pause_time_fraction",
    "peak_headroom_bytes",
    "peak_ingress_bytes",
    "peak_egress_bytes",
    "goodput_bps",
    "fct_p50_ps",
    "fct_p99_ps",
    "ecn_marks",
    "trims",
    "retransmitted_packets",
    "timeouts",
    "stuck_pauses",
  ];
  const names = reasons
    .map((column) => column.name)
    .concat(chosen)
    .filter(happened);
  // All drops of one reason: that column would say the same again.
  const single = reasons.filter((column) => happened(column.name)).length === 1;
  names
    .filter((name) => !(single && reasons.some((column) => column.name === name)))
    .forEach((name) => list.push(figureColumn(byName.get(name))));
  if (byName.has("throughput_bps") && !happened("goodput_bps"))
    list.push(figureColumn(byName.get("throughput_bps")));
  varying.filter((axis) => axis.kind === "derived").forEach((axis) => list.push(ofAxis(axis)));
  return list;
}

function figureColumn(figure) {
  const value = (point) => valueOf(figure, point);
  return {
    key: figure.name,
    head: figure.label,
    figure,
    right: true,
    text: (point) => (value(point) === null ? "–" : short(value(point), figure.unit, figure)),
    number: (point) => (value(point) === null ? null : Number(value(point))),
  };
}

function drawTable() {
  const body = bodyOf("points");
  if (pointCount === 0) {
    body.replaceChildren(el("p", {}, "The dataset has no table of points."));
    return;
  }
  table.columns = tableColumns();
  table.controls = el("div", { class: "controls", id: "table-controls" });
  table.told = el("p", { class: "caption", id: "table-told", "aria-live": "polite" });
  table.box = el("div", { class: "rows", id: "table", tabindex: -1 });
  table.detail = el("div", { id: "detail" });
  table.printed = el("div", { class: "printed", id: "table-printed" });
  body.replaceChildren(table.controls, table.told, table.box, table.detail, table.printed);
  tableControls();
  table.head = el("thead");
  table.rows = el("tbody");
  table.cols = el("colgroup");
  table.box.append(el("table", { "aria-label": "Points" }, table.cols, table.head, table.rows));
  table.box.addEventListener("scroll", () => renderRows(false));
  // The worst first, if there is something bad.
  if (happened("drops")) Object.assign(table, { sort: "drops", down: true });
  tableHead();
  refilter();
  window.addEventListener("beforeprint", printTable);
}

function tableControls() {
  const again = () => refilter();
  const words = el("input", {
    type: "search",
    id: "table-words",
    placeholder: "job id, value, reason …",
    value: table.words,
    oninput: (event) => {
      table.words = event.target.value;
      again();
    },
  });
  const present = STATUSES.filter((status) => statuses.has(status));
  replaceControls(table.controls, [
    field("find", words, "wide"),
    present.length > 1 &&
      field(
        "status",
        choice(
          "table-status",
          [["", "all"]].concat(
            present.map((status) => [
              status,
              status + " (" + thousands(statuses.get(status)) + ")",
            ]),
          ),
          table.status,
          (value) => {
            table.status = value;
            again();
          },
        ),
      ),
    free.map((axis) =>
      field(
        axis.name,
        choice(
          "table-only-" + axis.name,
          [["", "all"]].concat(axis.values.map((value, code) => [code, value])),
          table.only.has(axis) ? table.only.get(axis) : "",
          (code) => {
            if (code === "") table.only.delete(axis);
            else table.only.set(axis, Number(code));
            again();
          },
        ),
      ),
    ),
    columnsMenu(),
    el("button", { type: "button", id: "table-clear", onclick: clearTable }, "Show all"),
  ]);
}

function columnsMenu() {
  const options = figuresAll.filter(
    (figure) => !table.columns.some((column) => column.key === figure.name),
  );
  return field(
    "add a column",
    choice(
      "table-column",
      [["", "–"]].concat(options.map((figure) => [figure.name, figure.label])),
      "",
      (name) => {
        if (name === "") return;
        table.columns.push(figureColumn(byName.get(name)));
        tableControls();
        tableHead();
        renderRows(true);
        table.box.scrollLeft = table.box.scrollWidth;
      },
    ),
  );
}

function clearTable() {
  Object.assign(table, { words: "", status: "", jobs: null, cell: null });
  table.only.clear();
  tableControls();
  refilter();
}

function tableHead() {
  const cells = table.columns.map((column) => {
    const sorted = table.sort === column.key;
    const arrow = sorted ? (table.down ? " ↓" : " ↑") : "";
    const button = el(
      "button",
      {
        type: "button",
        title: column.figure ? column.figure.description : column.head,
        onclick: () => sortBy(column.key),
      },
      column.head + arrow,
    );
    return el(
      "th",
      {
        class: column.right ? "num" : "",
        scope: "col",
        "data-key": column.key,
        "aria-sort": sorted ? (table.down ? "descending" : "ascending") : "none",
      },
      button,
    );
  });
  table.head.replaceChildren(el("tr", {}, cells));
  // Fixed widths, or the table would jump while it is scrolled: the widest of what is likely.
  const sample = Array.from({ length: Math.min(pointCount, 400) }, (_, index) =>
    Math.floor((index * pointCount) / Math.min(pointCount, 400)),
  );
  table.cols.replaceChildren(
    ...table.columns.map((column) => {
      const texts =
        column.axis && column.axis.values.length < 2000
          ? column.axis.values
          : sample.map(column.text);
      const letters = Math.max(
        ...texts.map((text) => text.length),
        column.key === "status" ? 8 : 4,
      );
      const longest = texts.find((text) => text.length === letters) || "";
      return el("col", {
        style:
          "width: " +
          Math.ceil(
            Math.min(
              280,
              Math.max(widthOf(longest, 13), letters * 7, widthOf(column.head + " ↓", 13.5)) + 26,
            ),
          ) +
          "px",
      });
    }),
  );
}

function sortBy(key) {
  const column = table.columns.find((one) => one.key === key);
  const sorted = table.sort === key;
  // Figures from large to small at first, all else from small to large.
  table.down = sorted ? !table.down : Boolean(column.figure);
  table.sort = key;
  const focused = document.activeElement && document.activeElement.closest("th");
  tableHead();
  if (focused) table.head.querySelector('[data-key="' + CSS.escape(key) + '"] button').focus();
  refilter();
}

function matches(point, words) {
  const job = points.job[point];
  const status = statusOf(point);
  if (table.status !== "" ? status !== table.status : status === "excluded" && !table.cell)
    return false;
  for (const [axis, code] of table.only) if (axis.codes[point] !== code) return false;
  if (table.jobs && !(job !== null && table.jobs.set.has(job))) return false;
  if (table.cell && !table.cell.test(point)) return false;
  if (words.length === 0) return true;
  const text = [
    job === null ? "" : jobs.id[job],
    status,
    reasonOf(point) || "",
    varying.map((axis) => axis.name + "=" + textOf(axis, point)).join(" "),
  ]
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

function refilter() {
  const words = table.words.toLowerCase().split(/\s+/).filter(Boolean);
  const list = [];
  for (let point = 0; point < pointCount; point += 1) if (matches(point, words)) list.push(point);
  const column = table.columns.find((one) => one.key === table.sort);
  if (column) {
    const keys = new Map(list.map((point) => [point, column.number(point)]));
    const way = table.down ? -1 : 1;
    list.sort((a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      // Without a value: last, whichever way.
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return way * (x - y) || a - b;
    });
  }
  table.shown = list;
  const hidden =
    table.status === "" && statuses.has("excluded") && !table.cell
      ? ", without " + count(statuses.get("excluded"), "excluded point")
      : "";
  const why = [
    table.jobs && "of “" + table.jobs.name + "”",
    table.cell && "of the cell " + table.cell.name,
  ]
    .filter(Boolean)
    .join(", ");
  table.told.replaceChildren(
    el("b", { id: "table-count" }, thousands(list.length)),
    " of " +
      count(pointCount, "point") +
      (why ? " " + why : "") +
      hidden +
      ". A row tells more when it is clicked.",
  );
  table.box.scrollTop = 0;
  renderRows(true);
}

function renderRows(all) {
  const from = Math.max(0, Math.floor(table.box.scrollTop / ROW) - AROUND);
  const to = Math.min(
    table.shown.length,
    from + Math.ceil((table.box.clientHeight || 560) / ROW) + 2 * AROUND,
  );
  if (!all && from === table.from && to === table.to) return;
  Object.assign(table, { from, to });
  const gap = (rows) =>
    rows > 0 &&
    el(
      "tr",
      { class: "gap", "aria-hidden": "true" },
      el("td", { colspan: table.columns.length, style: "height: " + rows * ROW + "px" }),
    );
  const rows = table.shown.slice(from, to).map((point) =>
    el(
      "tr",
      {
        tabindex: 0,
        "data-point": point,
        "aria-selected": point === table.selected ? "true" : "false",
        onclick: () => select(point),
        onkeydown: (event) => rowKey(event, point),
      },
      tableCells(point),
    ),
  );
  table.rows.replaceChildren(...[gap(from), ...rows, gap(table.shown.length - to)].filter(Boolean));
}

function tableCells(point) {
  return table.columns.map((column) => {
    const text = column.text(point);
    if (column.key === "status")
      return el("td", { title: reasonOf(point) }, el("span", { class: "status " + text }, text));
    const lost = column.key.startsWith("drops") && column.number(point) > 0;
    const title = column.figure
      ? exact(valueOf(column.figure, point), column.figure.unit, column.figure)
      : text;
    return el("td", { class: (column.right ? "num" : "") + (lost ? " lost" : ""), title }, text);
  });
}

function rowKey(event, point) {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    select(point);
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const place = table.shown.indexOf(point) + step;
  if (place < 0 || place >= table.shown.length) return;
  const top = place * ROW;
  if (top < table.box.scrollTop) table.box.scrollTop = top;
  if (top + 2 * ROW > table.box.scrollTop + table.box.clientHeight - ROW)
    table.box.scrollTop = top + 3 * ROW - table.box.clientHeight;
  renderRows(true);
  const row = table.rows.querySelector('[data-point="' + table.shown[place] + '"]');
  if (row) row.focus({ preventScroll: true });
}

function select(point) {
  table.selected = point;
  table.rows
    .querySelectorAll("tr[data-point]")
    .forEach((row) =>
      row.setAttribute("aria-selected", String(Number(row.dataset.point) === point)),
    );
  const job = points.job[point];
  const folder = content.head.dataset;
  const reason = reasonOf(point);
  const drawn = job !== null && wires.showJob(job, false);
  const facts = figuresAll.filter((figure) => !figure.made && valueOf(figure, point) !== null);
  const ran = job !== null && facts.length > 0;
  const lines = [];
  if (reason)
    lines.push(el("p", {}, statusOf(point) === "ok" ? reason : statusOf(point) + ": " + reason));
  if (drawn)
    lines.push(
      el(
        "button",
        { type: "button", class: "link", onclick: () => wires.showJob(job, true) },
        "Over time: below",
      ),
    );
  else if (ran)
    lines.push(
      el(
        "p",
        { class: "soft small" },
        "Over time: not on this page; ",
        el("code", {}, "poolsweep report " + folder + " --job " + jobs.id[job]),
        " puts it there.",
      ),
    );
  if (ran)
    lines.push(
      el(
        "p",
        { class: "soft small" },
        "Why: ",
        el("code", {}, "poolsweep explain " + folder + " " + jobs.id[job]),
        " · again: ",
        el("code", {}, "poolsweep repro " + jobs.id[job] + " --data " + folder),
      ),
    );
  const values = axes
    .map((axis) => [axis.name, textOf(axis, point)])
    .concat(
      facts.map((figure) => [
        figure.label,
        exact(valueOf(figure, point), figure.unit, figure),
        figure.description,
      ]),
    );
  table.detail.replaceChildren(
    el(
      "div",
      { class: "detail" },
      el(
        "header",
        {},
        el("h3", {}, nameOf(point)),
        job !== null && el("p", { class: "soft small" }, "job ", el("code", {}, jobs.id[job])),
      ),
      lines,
      el(
        "dl",
        { class: "facts" },
        values.map(([name, value, title]) =>
          el("div", { title }, el("dt", {}, name), el("dd", {}, value)),
        ),
      ),
    ),
  );
}

function printTable() {
  if (!table.printed) return;
  const rows = table.shown.slice(0, PRINTED);
  const more = table.shown.length - rows.length;
  table.printed.replaceChildren(
    ...[
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            table.columns.map((column) =>
              el("th", { class: column.right ? "num" : "" }, column.head),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          rows.map((point) => el("tr", {}, tableCells(point))),
        ),
      ),
      more > 0 && el("p", {}, "and " + count(more, "more point")),
    ].filter(Boolean),
  );
}

wires.onlyJobs = (list, name) => {
  clearTable();
  table.jobs = { set: new Set(list), name };
  refilter();
  document.getElementById("points").scrollIntoView();
};

wires.onlyCell = (sides, filters) => {
  clearTable();
  filters.forEach((code, axis) => table.only.set(axis, code));
  const tests = sides
    .filter(([axis]) => axis)
    .map(([axis, bin, place]) => ({
      name: axis.name + " = " + bin.text(place),
      test: (point) => bin.of(point) === place,
    }));
  table.cell = {
    name: tests.map((one) => one.name).join(", "),
    test: (point) => tests.every((one) => one.test(point)),
  };
  tableControls();
  refilter();
  document.getElementById("points").scrollIntoView();
};
