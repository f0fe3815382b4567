// What the content says, by point: axes, figures, status.

const axes = content.axes;
const points = content.points;
const jobs = content.jobs;
const pointCount = points.count;

// Those whose value is not the same everywhere.
const varying = axes.filter((axis) => axis.values.length > 1);
// Those a reader may set: what is derived follows from them.
const free = varying.filter((axis) => axis.kind !== "derived");

const anyLoss = {
  name: "lossy",
  unit: "1",
  label: "share of jobs that lost packets",
  made: true,
  description: "1 if the job dropped anything, else 0; the mean is the share",
};
const columns = jobs.columns.map((column) =>
  Object.assign(column, { label: plainName(column.name).replace(/ (ps|bytes|bps)$/, "") }),
);
const byName = new Map(columns.map((column) => [column.name, column]));
const dropsColumn = byName.get("drops");
if (dropsColumn) {
  anyLoss.values = dropsColumn.values.map((value) => (value === null ? null : value > 0 ? 1 : 0));
  byName.set("lossy", anyLoss);
}
const reasons = columns.filter((column) => /^drops_(?!without)/.test(column.name));

function happened(name) {
  const column = byName.get(name);
  return Boolean(column) && column.values.some((value) => Number(value) > 0);
}

// Figures in the order in which they are looked at.
const FIRST = [
  "drops",
  "lossy",
  "dropped_bytes",
  "pause_time_fraction",
  "peak_headroom_bytes",
  "peak_ingress_bytes",
  "peak_egress_bytes",
  "throughput_bps",
  "goodput_bps",
  "fct_p50_ps",
  "fct_p99_ps",
  "fct_max_ps",
  "ecn_marks",
  "trims",
  "pause_frames",
];
const figuresAll = FIRST.map((name) => byName.get(name))
  .filter(Boolean)
  .concat(columns.filter((column) => !FIRST.includes(column.name)));

const jobStatus = (job) => jobs.status.words[jobs.status.codes[job]];
const jobReason = (job) =>
  jobs.reason.codes[job] === null ? null : jobs.reason.words[jobs.reason.codes[job]];

function statusOf(point) {
  const job = points.job[point];
  if (job !== null) return jobStatus(job);
  return points.excluded[point] !== null ? "excluded" : "outstanding";
}

function reasonOf(point) {
  const job = points.job[point];
  if (job !== null) return jobReason(job);
  const constraint = points.excluded[point];
  return constraint === null ? null : "by the constraint " + points.constraints[constraint];
}

function valueOf(figure, point) {
  const job = points.job[point];
  return job === null ? null : figure.values[job];
}

function textOf(axis, point) {
  return axis.values[axis.codes[point]];
}

// One line naming a point by what varies.
function nameOf(point, without) {
  // What is derived follows from the rest, if there is any.
  const parts = (free.length ? free : varying)
    .filter((axis) => axis !== without)
    .map((axis) => {
      const text = textOf(axis, point);
      return axis.kind === "scenario"
        ? text
        : axis.kind === "repetition"
          ? "repetition " + text
          : axis.name + "=" + text;
    });
  return parts.length ? parts.join(", ") : "the only point";
}

const pointOfJob = new Map();
for (let point = pointCount - 1; point >= 0; point -= 1) {
  if (points.job[point] !== null) pointOfJob.set(points.job[point], point);
}

function jobName(job) {
  return pointOfJob.has(job) ? nameOf(pointOfJob.get(job)) : "job " + jobs.id[job];
}

const STATUSES = ["ok", "infeasible", "budget", "failed", "quarantined", "outstanding", "excluded"];
const statuses = new Map();
for (let point = 0; point < pointCount; point += 1) {
  statuses.set(statusOf(point), (statuses.get(statusOf(point)) || 0) + 1);
}

// Parts tell one another what was asked for.
const wires = {};
