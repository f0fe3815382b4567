// Chosen jobs over time: what a port and pool held, its thresholds, drops and pauses.

const time = { job: 0, place: 0 };

// Rows of the table of losses.
const LOST = 12;

const COUNTERS = {
  ingressUsage: "ingress: bytes that count against the pool",
  hdrm: "headroom: bytes that came after the pause",
  egressQueue: "egress queue",
  sharedBuffer: "whole shared buffer",
  shared: "shared part",
  reserve: "reserved part",
};

function drawTime() {
  const body = bodyOf("time");
  const all = content.timelines;
  if (all.length === 0) {
    body.replaceChildren(...whyNoTime());
    return;
  }
  Object.assign(time, {
    controls: el("div", { class: "controls" }),
    told: el("div", {}),
    charts: el("div", { id: "time-charts" }),
    losses: el("div", { class: "sub" }),
  });
  body.replaceChildren(time.controls, time.told, time.charts, time.losses);
  renderTime();
  onWidth(time.charts, renderCharts);
}

function whyNoTime() {
  const ran = jobs.id.some((_, job) => jobStatus(job) === "ok" || jobStatus(job) === "budget");
  if (!ran) return [el("p", {}, "No job ran, so there is nothing to draw.")];
  const recorded = jobs.tables.words.some((list) => list.split(",").includes("port_buffers"));
  if (recorded)
    return [
      el(
        "p",
        {},
        "No job was asked for: ",
        el("code", {}, "poolsweep report " + content.head.dataset + " --job JOB_ID"),
        " draws one, --worst N the worst.",
      ),
    ];
  return [
    el("p", {}, "What ports held over time was not recorded. In the sweep file"),
    el(
      "pre",
      {},
      "record: {tables: [jobs, port_buffers, switch_buffers, drops, pfc], interval: 1us}",
    ),
    el(
      "p",
      {},
      "and the same ",
      el("code", {}, "poolsweep run"),
      " again records it: jobs whose rows lack a table run once more.",
    ),
  ];
}

const placeName = (place) =>
  place.name +
  " port " +
  place.port +
  (place.side && place.side !== "-" ? " (" + place.side + ")" : "") +
  ", pool " +
  place.pool;
const poolName = (pool) =>
  pool.name + ", " + (pool.pool < 0 ? "all pools and headroom" : "pool " + pool.pool);

// Everything that can be chosen of a job: ports first, then pools.
function viewsOf(job) {
  return job.places
    .map((place) => ({ name: placeName(place), place }))
    .concat(job.pools.map((pool) => ({ name: poolName(pool), pool })));
}

function lostAt(job, place) {
  return job.drops.filter(
    (drop) => drop.node === place.node && drop.port === place.port && drop.pool === place.pool,
  );
}

function renderTime() {
  const job = content.timelines[time.job];
  const views = viewsOf(job);
  time.place = Math.min(time.place, views.length - 1);
  const drops = (one) =>
    dropsColumn && dropsColumn.values[one.job] > 0
      ? " – " + count(Number(dropsColumn.values[one.job]), "drop")
      : "";
  const option = (view, index) => {
    const lost = view.place
      ? lostAt(job, view.place).reduce(
          (sum, drop) => sum + drop.packets.reduce((a, b) => a + b, 0),
          0,
        )
      : 0;
    return [index, view.name + (lost > 0 ? " – " + count(lost, "drop") : "")];
  };
  const groups = [
    { group: "ports", options: views.map(option).filter((_, index) => views[index].place) },
    { group: "pools", options: views.map(option).filter((_, index) => views[index].pool) },
  ].filter((group) => group.options.length);
  replaceControls(time.controls, [
    field(
      "job",
      choice(
        "time-job",
        content.timelines.map((one, index) => [index, jobName(one.job) + drops(one)]),
        time.job,
        (value) => {
          Object.assign(time, { job: Number(value), place: 0 });
          renderTime();
        },
      ),
      "wide",
    ),
    views.length > 0 &&
      field(
        "port and pool",
        choice("time-place", groups, time.place, (value) => {
          time.place = Number(value);
          renderTime();
        }),
        "wide",
      ),
  ]);
  const { steps } = job;
  const notes = [
    "Intervals of " +
      short(steps.interval, "ps") +
      (steps.together > 1
        ? ", " +
          steps.together +
          " of them put together to one step: the least of their minima, the largest of their maxima."
        : "."),
  ];
  if (steps.count === 1)
    notes.push("One interval covers the whole job; a shorter record.interval shows how it came.");
  if (job.places_left > 0)
    notes.push(
      count(job.places_left, "more port and pool").replace("port and pools", "ports and pools") +
        " held something; shown are those that lost most or came closest to a limit.",
    );
  if (!job.recorded.includes("switch_buffers"))
    notes.push("Pools as a whole: not recorded (switch_buffers in record.tables).");
  if (!job.recorded.includes("port_buffers"))
    notes.push("Ports: not recorded (port_buffers in record.tables).");
  time.told.replaceChildren(
    el(
      "p",
      { class: "caption" },
      el("b", {}, jobName(job.job)),
      views.length ? ": " + views[time.place].name : "",
      el("br"),
      el(
        "span",
        { class: "soft small" },
        "job ",
        el("code", {}, jobs.id[job.job]),
        ". " + notes.join(" "),
      ),
    ),
  );
  renderCharts(time.charts.clientWidth || 600);
  time.losses.replaceChildren(...lossTable(job));
}

function lossTable(job) {
  if (job.drops.length === 0) return [];
  const lost = job.drops.length + job.drops_left;
  const whole = job.steps.interval * job.steps.together;
  const row = (drop) =>
    el(
      "tr",
      {},
      el("td", {}, drop.name),
      el("td", { class: "num" }, drop.port),
      el("td", { class: "num" }, drop.class),
      el("td", { class: "num" }, drop.pool),
      el("td", {}, plainName(drop.reason)),
      el("td", { class: "num lost" }, thousands(drop.packets.reduce((a, b) => a + b, 0))),
      el(
        "td",
        { class: "num" },
        short(
          drop.bytes.reduce((a, b) => a + b, 0),
          "B",
        ),
      ),
      el("td", { class: "num" }, short(Math.min((drop.at[0] + 1) * whole, job.steps.end), "ps")),
    );
  return [
    el("h3", {}, "Where packets were lost"),
    plainTable(
      [
        ["where"],
        ["port", "num"],
        ["class", "num"],
        ["pool", "num"],
        ["reason"],
        ["packets", "num"],
        ["bytes", "num"],
        ["first by", "num"],
      ],
      job.drops.slice(0, LOST).map(row),
    ),
    lost > LOST &&
      el(
        "p",
        { class: "soft small" },
        "and " + thousands(lost - LOST) + " more of port, class and reason",
      ),
  ].filter(Boolean);
}

// Value of a counter at a step; a step without a row held nothing.
function atStep(counter, step) {
  const place = counter.at.indexOf(step);
  if (place < 0) return { min: 0, mean: 0, max: 0, limit: null };
  return {
    min: counter.min[place],
    mean: counter.mean[place],
    max: counter.max[place],
    limit: Array.isArray(counter.limit) ? counter.limit[place] : counter.limit,
  };
}

// Lines across a chart: thresholds by name, else the limit.
function linesOf(counter) {
  if (counter.lines.length) return counter.lines.map(([name, bytes]) => ({ name, bytes }));
  if (Array.isArray(counter.limit)) return [];
  return [
    {
      name: { egressQueue: "egress limit", sharedBuffer: "buffer" }[counter.name] || "limit",
      bytes: counter.limit,
    },
  ];
}

const lineText = (line) => line.name + " " + short(line.bytes, "B");

function renderCharts(width) {
  const job = content.timelines[time.job];
  const view = viewsOf(job)[time.place];
  if (!view) {
    time.charts.replaceChildren(
      el(
        "p",
        { class: "soft" },
        job.recorded.includes("port_buffers") ? "No port held anything." : "",
      ),
    );
    return;
  }
  const of = view.place || view.pool;
  const order = ["ingressUsage", "hdrm", "egressQueue"];
  const counters = of.counters
    .slice()
    .sort((a, b) => ((order.indexOf(a.name) + 9) % 9) - ((order.indexOf(b.name) + 9) % 9));
  const drops = view.place ? lostAt(job, view.place) : [];
  const pauses = view.place
    ? job.pauses.filter(
        (one) =>
          one.node === of.node &&
          one.port === of.port &&
          (one.pool === null || one.pool === of.pool),
      )
    : [];
  const left =
    Math.max(
      46,
      ...counters.map((counter) =>
        Math.max(...ticks(topOf(counter), "B", 4).map(([, text]) => widthOf(text))),
      ),
    ) + 14;
  // Thresholds are named beside the chart, where they hide nothing.
  const names = counters.flatMap((counter) =>
    linesOf(counter)
      .filter((line) => line.bytes <= topOf(counter))
      .map((line) => widthOf(lineText(line))),
  );
  const area = {
    left,
    right: width - (width < 520 ? 8 : Math.max(8, largest(names) + 12)),
    steps: job.steps,
    whole: job.steps.interval * job.steps.together,
  };
  area.x = (ps) => left + (ps / job.steps.end) * (area.right - left);
  area.from = (step) => area.x(step * area.whole);
  area.to = (step) => area.x(Math.min((step + 1) * area.whole, job.steps.end));
  const charts = counters.map((counter) => chartOf(counter, area, width));
  const lanes = lanesOf(drops, pauses, area, width);
  time.charts.replaceChildren(
    ...charts,
    lanes,
    view.place && drops.length === 0 && job.drops.length > 0
      ? el(
          "p",
          { class: "soft small" },
          "Packets of this job were lost elsewhere: the table below says where.",
        )
      : "",
  );
  followTime(area, counters, drops, pauses);
}

// Whether a job is drawn here; with `go`, goes there.
wires.showJob = (job, go) => {
  const index = content.timelines.findIndex((one) => one.job === job);
  if (index < 0) return false;
  if (time.job !== index) {
    Object.assign(time, { job: index, place: 0 });
    renderTime();
  }
  if (go) document.getElementById("time").scrollIntoView();
  return true;
};
