// The head: what was asked, how it went; and the sweep itself at the end.

function drawHead() {
  const head = content.head;
  const byStatus = new Map();
  jobs.id.forEach((_, job) =>
    byStatus.set(jobStatus(job), (byStatus.get(jobStatus(job)) || 0) + 1),
  );
  const outstanding = statuses.get("outstanding") || 0;
  const chip = (status, number, text) =>
    el(
      "li",
      { class: "chip" },
      el(
        "span",
        { class: "status " + status },
        el("b", {}, thousands(number)),
        " " + (text || status),
      ),
    );
  const chips = STATUSES.filter((status) => byStatus.has(status)).map((status) =>
    chip(status, byStatus.get(status)),
  );
  if (outstanding) chips.push(chip("outstanding", outstanding, "points outstanding"));
  if (statuses.has("excluded"))
    chips.push(chip("excluded", statuses.get("excluded"), "points excluded"));
  if (content.findings.ended) {
    chips.push(
      chip(
        content.findings.lossy ? "lossy" : "ok",
        content.findings.lossy,
        "of " + thousands(content.findings.ended) + " that ran lost packets",
      ),
    );
  }
  const meta = [count(pointCount, "point"), count(jobs.id.length, "job")];
  if (head.repetitions > 1) meta.push(count(head.repetitions, "repetition"));
  if (head.versions.length) meta.push("poolsweep " + head.versions.join(", "));
  if (head.first_start !== null) {
    const end = head.last_end === null ? "not ended" : moment(head.last_end);
    meta.push(
      "run " +
        moment(head.first_start) +
        " to " +
        end +
        (head.runs > 1 ? " in " + count(head.runs, "run") : ""),
    );
  }
  if (head.plan_hash)
    meta.push(
      el("span", { title: head.plan_hash }, "plan ", el("code", {}, head.plan_hash.slice(0, 16))),
    );
  const first = head.question.findIndex((line) => line.trim() !== "");
  const rest = head.question
    .slice(first + 1)
    .join("\n")
    .replace(/^\n+|\n+$/g, "");
  document.getElementById("head").replaceChildren(
    ...[
      el("h1", {}, head.name),
      first >= 0 && el("p", { class: "lead" }, head.question[first]),
      el("ul", { class: "chips", "aria-label": "Jobs by status" }, chips),
      el(
        "div",
        { class: "meta" },
        meta.map((text) => el("span", {}, text)),
      ),
      rest &&
        el(
          "details",
          { class: "about" },
          el("summary", {}, "How the sweep is meant"),
          el("pre", {}, rest),
        ),
    ].filter(Boolean),
  );
}

function valuesOf(axis) {
  const most = 24;
  if (axis.values.length <= most) return axis.values.join(", ");
  return axis.values.slice(0, most - 1).join(", ") + ", … " + axis.values[axis.values.length - 1];
}

function drawSweep() {
  const head = content.head;
  const unit = (axis) => (axis.unit === "1" || axis.unit === "" ? "" : axis.unit);
  const row = (axis) =>
    el(
      "tr",
      {},
      el("td", {}, el("code", {}, axis.name)),
      el("td", {}, axis.kind),
      el("td", {}, unit(axis)),
      el("td", { class: "num" }, thousands(axis.values.length)),
      el("td", { class: "wrap" }, valuesOf(axis)),
    );
  const table =
    axes.length === 0
      ? el(
          "p",
          {},
          pointCount === 0
            ? "The dataset has no table of points."
            : "Nothing varies: one scenario.",
        )
      : plainTable([["name"], ["kind"], ["base unit"], ["values", "num"], [""]], axes.map(row));
  const removed = head.exclusions.filter((one) => one.points > 0);
  const kept = head.exclusions.length - removed.length;
  bodyOf("sweep").replaceChildren(
    ...[
      table,
      removed.length > 0 && el("h3", { class: "sub" }, "Excluded by constraints"),
      removed.length > 0 &&
        el(
          "ul",
          { class: "where" },
          removed.map((one) =>
            el(
              "li",
              {},
              el("span", {}, el("code", {}, one.constraint)),
              el("span", {}, count(one.points, "point")),
            ),
          ),
        ),
      kept > 0 && el("p", { class: "soft small" }, count(kept, "constraint") + " removed nothing."),
      head.warnings.length > 0 &&
        el(
          "details",
          { class: "sub" },
          el("summary", {}, count(head.warnings.length, "warning") + " of the plan"),
          el(
            "ul",
            { class: "small" },
            head.warnings.map((text) => el("li", {}, text)),
          ),
        ),
      el(
        "p",
        { class: "soft small sub" },
        "Seed " + (head.seed === null ? "unknown" : head.seed) + ". Data in ",
        el("code", {}, head.dataset),
        ": points.parquet joins every other table on job_id.",
      ),
    ].filter(Boolean),
  );
  document
    .getElementById("foot")
    .replaceChildren(
      "Made by ",
      el("code", {}, "poolsweep report"),
      " from the dataset alone. Nothing is loaded from a network.",
    );
}

function drawNav() {
  const links = [
    ["findings", "Findings"],
    ["map", "Heat map"],
    ["drops", "Drops"],
    ["points", "Points"],
    ["time", "Over time"],
    ["sweep", "The sweep"],
  ];
  document
    .getElementById("nav")
    .replaceChildren(...links.map(([id, text]) => el("a", { href: "#" + id }, text)));
}
