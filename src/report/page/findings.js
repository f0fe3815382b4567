// What `explain` finds, and what to do about it.

// Of these nothing is lost or stands still.
const MILD = [
  "infeasible",
  "lossy_class_pauses",
  "pause_flapping",
  "pause_hog",
  "sizing_condition_missed",
];

function drawFindings() {
  const told = content.findings;
  const folder = content.head.dataset;
  const parts = [];
  if (jobs.id.length === 0) {
    parts.push(
      el("p", {}, "Nothing ran yet: ", el("code", {}, "poolsweep run " + folder), " runs it."),
    );
  } else if (told.found.length === 0 && told.flips_all === 0) {
    parts.push(el("p", {}, "Nothing found: no job lost a packet, stood still or was refused."));
  }
  const card = (found) =>
    el(
      "article",
      { class: "card" + (MILD.includes(found.name) ? "" : " bad"), "data-finding": found.name },
      el(
        "header",
        {},
        el("h3", {}, plainName(found.name)),
        el(
          "span",
          { class: "count" },
          thousands(found.jobs.length) + " of " + count(jobs.id.length, "job"),
        ),
      ),
      el("p", {}, found.meaning.charAt(0).toUpperCase() + found.meaning.slice(1) + "."),
      found.first && el("p", { class: "soft small" }, "First: " + found.first),
      el(
        "ul",
        { class: "where" },
        found.axes.map(([axis, text]) => el("li", {}, el("span", {}, axis), el("span", {}, text))),
      ),
      el(
        "button",
        {
          class: "link small",
          type: "button",
          onclick: () => wires.onlyJobs(found.jobs, plainName(found.name)),
        },
        "Show these points",
      ),
    );
  if (told.found.length) parts.push(el("div", { class: "cards" }, told.found.map(card)));
  if (told.flips_all > 0) parts.push(drawFlips(told));
  if (told.losses_all > 0) parts.push(drawLosses(told));
  const worst = dropsColumn
    ? dropsColumn.values.reduce(
        (best, value, job) =>
          value > 0 && (best < 0 || value > dropsColumn.values[best]) ? job : best,
        -1,
      )
    : -1;
  if (worst >= 0) {
    parts.push(
      el(
        "p",
        { class: "sub small" },
        "Most drops: " +
          short(dropsColumn.values[worst]) +
          " at " +
          jobName(worst) +
          ". Which setting to move and by how much, ",
        el("code", {}, "poolsweep explain " + folder + " " + jobs.id[worst]),
        " tells.",
      ),
    );
  }
  bodyOf("findings").replaceChildren(...parts);
}

function drawFlips(told) {
  const drops = (point) => (dropsColumn ? count(Number(valueOf(dropsColumn, point)), "drop") : "");
  const row = (flip) =>
    el(
      "tr",
      {},
      el("td", {}, flip.axis),
      el("td", { class: "num" }, figures(flip.relative * 100) + " %"),
      el("td", { class: "wrap" }, nameOf(flip.low) + " (" + drops(flip.low) + ")"),
      el("td", { class: "wrap" }, nameOf(flip.high) + " (" + drops(flip.high) + ")"),
    );
  const shown = told.flips.slice(0, 20);
  return el(
    "div",
    { class: "sub" },
    el("h3", {}, "Verdicts that flip"),
    el(
      "p",
      { class: "small" },
      count(told.flips_all, "pair") +
        " of neighbouring points within 1 % of a setting, one of which loses packets: a knife edge, keep away from it." +
        (told.flips_all > shown.length ? " The first " + shown.length + ":" : ""),
    ),
    plainTable(
      [
        ["setting"],
        ["apart", "num"],
        ["below"],
        ["above"],
      ],
      shown.map(row),
    ),
  );
}

function drawLosses(told) {
  const repetition = axes.find((axis) => axis.kind === "repetition");
  const percent = (share) => (share * 100).toFixed(1);
  const shown = told.losses
    .slice()
    .sort((a, b) => b.share - a.share || a.point - b.point)
    .slice(0, 40);
  const row = (loss) =>
    el(
      "tr",
      {},
      el("td", { class: "wrap" }, nameOf(loss.point, repetition)),
      el("td", { class: "num" }, loss.with_loss + " of " + loss.repetitions),
      el("td", { class: "num" }, percent(loss.share) + " %"),
      el(
        "td",
        { class: "num" },
        percent(loss.interval[0]) + " to " + percent(loss.interval[1]) + " %",
      ),
    );
  return el(
    "div",
    { class: "sub" },
    el("h3", {}, "Repetitions with any loss"),
    el(
      "p",
      { class: "small" },
      thousands(told.losses_all) +
        " of " +
        count(told.repeated, "repeated point") +
        " lost packets in some repetition." +
        (told.losses_all > shown.length
          ? " Those that lost most often, " + shown.length + " of them:"
          : ""),
    ),
    plainTable(
      [
        ["point"],
        ["with loss", "num"],
        ["share", "num"],
        ["95 % interval (Wilson)", "num"],
      ],
      shown.map(row),
    ),
  );
}
