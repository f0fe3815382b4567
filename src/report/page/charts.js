// Charts of a counter over time, lanes of drops and pauses, and the pointer over them.

function topOf(counter) {
  const peak = largest(counter.max);
  // A limit far above what was held would press the curve flat: it is named instead.
  const near = linesOf(counter)
    .map((line) => line.bytes)
    .filter((bytes) => bytes <= peak * 3);
  const moving = Array.isArray(counter.limit)
    ? counter.limit.filter((bytes) => bytes <= peak * 3)
    : [];
  return Math.max(peak, largest(near), largest(moving)) * 1.14;
}

function chartOf(counter, area, width) {
  const top = 26;
  const tall = 150;
  const height = top + tall + 8;
  const most = topOf(counter);
  const y = (bytes) => top + tall - (bytes / most) * tall;
  const chart = draw("svg", {
    width,
    height,
    viewBox: "0 0 " + width + " " + height,
    class: "chart",
    role: "img",
    "data-counter": counter.name,
    "aria-label": counter.name + ", largest " + exact(largest(counter.max), "B"),
  });
  chart.append(draw("text", { x: 0, y: 14, style: "font-weight: 600" }, counter.name));
  const explained = COUNTERS[counter.name];
  const far = linesOf(counter)
    .filter((line) => line.bytes > most)
    .map((line) => line.name + " " + short(line.bytes, "B") + " ↑");
  const aside = far.join(", ");
  if (explained) {
    const at = widthOf(counter.name, 13) + 10;
    chart.append(
      draw(
        "text",
        { x: at, y: 14, class: "soft" },
        cut(explained, width - at - (aside ? widthOf(aside) + 16 : 0)),
      ),
    );
  }
  if (aside)
    chart.append(
      draw("text", { x: width - 8, y: 14, "text-anchor": "end", class: "limit" }, aside),
    );
  ticks(most, "B", 4).forEach(([bytes, text]) => {
    chart.append(
      draw("line", { x1: area.left, x2: area.right, y1: y(bytes), y2: y(bytes), class: "grid" }),
    );
    chart.append(
      draw(
        "text",
        { x: area.left - 8, y: y(bytes) + 4, "text-anchor": "end", class: "soft" },
        text,
      ),
    );
  });
  let mean = "";
  let band = "";
  let last = -2;
  counter.at.forEach((step, index) => {
    const [a, b] = [area.from(step), area.to(step)].map((x) => x.toFixed(1));
    // From small to large, so that a step without spread still shows.
    const [up, down] = [y(counter.max[index]), y(counter.min[index])];
    band +=
      "M" +
      a +
      " " +
      up.toFixed(1) +
      "H" +
      b +
      "V" +
      Math.max(down, up + 1).toFixed(1) +
      "H" +
      a +
      "Z";
    if (last !== step - 1)
      mean += (last >= 0 ? "V" + y(0).toFixed(1) : "") + "M" + a + " " + y(0).toFixed(1);
    mean += "V" + y(counter.mean[index]).toFixed(1) + "H" + b;
    last = step;
  });
  if (last < area.steps.count - 1) mean += "V" + y(0).toFixed(1);
  chart.append(draw("path", { d: band, class: "band" }), draw("path", { d: mean, class: "mean" }));
  if (Array.isArray(counter.limit)) {
    let path = "";
    counter.at.forEach((step, index) => {
      const level = y(Math.min(counter.limit[index], most)).toFixed(1);
      path +=
        (index > 0 && counter.at[index - 1] === step - 1
          ? "V" + level
          : "M" + area.from(step).toFixed(1) + " " + level) +
        "H" +
        area.to(step).toFixed(1);
    });
    chart.append(
      draw("path", { d: path, class: "line" }),
      draw(
        "text",
        { x: area.right - 4, y: top + 12, "text-anchor": "end", class: "limit halo" },
        "limit (moves)",
      ),
    );
  }
  const levels = linesOf(counter)
    .filter((line) => line.bytes <= most)
    .sort((a, b) => b.bytes - a.bytes);
  let named = 0;
  levels.forEach((line) => {
    const kind = { Xoff: "xoff", Xon: "xon" }[line.name] || "limit";
    const level = y(line.bytes);
    chart.append(
      draw("line", {
        x1: area.left,
        x2: area.right,
        y1: level,
        y2: level,
        class: "line " + kind,
        "data-threshold": line.name,
        "data-bytes": line.bytes,
      }),
    );
    // Names of neighbours keep apart: the highest is first. Where there is no room beside the chart
    // they stand on their line.
    const beside = area.right < width - 20;
    named = Math.max(beside ? level + 4 : level - 4, named + 14);
    chart.append(
      draw(
        "text",
        {
          x: beside ? area.right + 6 : area.right - 4,
          y: named,
          "text-anchor": beside ? "start" : "end",
          class: (beside ? "" : "halo ") + kind,
        },
        lineText(line),
      ),
    );
  });
  chart.append(
    draw("path", {
      d: "M" + area.left + " " + top + "V" + (top + tall) + "H" + area.right,
      class: "frame",
    }),
  );
  return chart;
}

function lanesOf(drops, pauses, area, width) {
  const lanes = [];
  const several = pauses.length > 1;
  drops.forEach((drop) =>
    lanes.push({
      kind: "lost",
      name: "lost",
      note: "packets lost: " + plainName(drop.reason) + ", class " + drop.class,
      at: drop.at,
      size: drop.packets,
    }),
  );
  pauses.forEach((one) => {
    const note = (text) => text + (several ? ", class " + one.class : "");
    if (one.paused.some((n) => n > 0))
      lanes.push({
        kind: "sent",
        name: "pauses",
        note: note("pause frames sent"),
        at: one.at,
        size: one.paused,
      });
    if (one.resumed.some((n) => n > 0))
      lanes.push({
        kind: "resumed",
        name: "resumes",
        note: note("resume frames sent"),
        at: one.at,
        size: one.resumed,
      });
    if (one.held.some((n) => n > 0))
      lanes.push({
        kind: "held",
        name: "held",
        note: note("time held as an egress"),
        at: one.at,
        size: one.held,
      });
  });
  const tall = 18;
  const each = tall + 20;
  const height = lanes.length * each + 34;
  const chart = draw("svg", {
    width,
    height,
    viewBox: "0 0 " + width + " " + height,
    class: "chart",
    role: "img",
    "aria-label": "Drops and pauses",
    id: "time-lanes",
  });
  lanes.forEach((lane, index) => {
    const y = index * each + 18;
    const most = largest(lane.size);
    chart.append(
      draw("rect", { x: area.left, y, width: area.right - area.left, height: tall, class: "lane" }),
    );
    chart.append(draw("text", { x: area.left - 8, y: y + 13, "text-anchor": "end" }, lane.name));
    lane.at.forEach((step, place) => {
      if (!(lane.size[place] > 0)) return;
      const tallness = Math.max(3, (lane.size[place] / most) * tall);
      chart.append(
        draw("rect", {
          x: area.from(step),
          y: y + tall - tallness,
          width: Math.max(1.5, area.to(step) - area.from(step) - 0.3),
          height: tallness,
          class: lane.kind,
        }),
      );
    });
    const text =
      lane.note +
      "; most in a step " +
      (lane.kind === "held" ? short(most, "us") : thousands(most));
    chart.append(
      draw("text", { x: area.left, y: y - 4, class: "soft" }, cut(text, area.right - area.left)),
    );
  });
  const base = lanes.length * each + 6;
  ticks(area.steps.end, "ps", Math.max(3, Math.floor(width / 140))).forEach(([ps, text]) => {
    const x = area.x(ps);
    const anchor = x + widthOf(text) / 2 > width ? "end" : "middle";
    chart.append(
      draw("line", { x1: x, x2: x, y1: base - 4, y2: base + 2, class: "frame" }),
      draw("text", { x, y: base + 16, "text-anchor": anchor, class: "soft" }, text),
    );
  });
  return chart;
}

function followTime(area, counters, drops, pauses) {
  const sum = (list, key, step) =>
    list.reduce(
      (total, one) => total + (one.at.includes(step) ? one[key][one.at.indexOf(step)] : 0),
      0,
    );
  const crosses = [...time.charts.querySelectorAll("svg")].map((chart) => {
    const cross = draw("line", {
      class: "cross",
      y1: 0,
      y2: chart.getAttribute("height"),
      visibility: "hidden",
    });
    chart.append(cross);
    return cross;
  });
  const leave = () => {
    crosses.forEach((cross) => cross.setAttribute("visibility", "hidden"));
    hideTip();
  };
  time.charts.onpointerleave = leave;
  time.charts.onpointermove = (event) => {
    const x = event.clientX - time.charts.getBoundingClientRect().left;
    if (x < area.left || x > area.right) {
      leave();
      return;
    }
    const ps = ((x - area.left) / (area.right - area.left)) * area.steps.end;
    const step = Math.min(area.steps.count - 1, Math.floor(ps / area.whole));
    crosses.forEach((cross) => {
      cross.setAttribute("x1", x);
      cross.setAttribute("x2", x);
      cross.setAttribute("visibility", "visible");
    });
    const end = Math.min((step + 1) * area.whole, area.steps.end);
    const pairs = [["from, to", short(step * area.whole, "ps") + ", " + short(end, "ps")]];
    counters.forEach((counter) => {
      const held = atStep(counter, step);
      pairs.push(
        [counter.name + " max", exact(held.max, "B")],
        [counter.name + " mean", short(held.mean, "B")],
        [counter.name + " min", exact(held.min, "B")],
      );
      if (Array.isArray(counter.limit) && held.limit !== null)
        pairs.push([counter.name + " limit", exact(held.limit, "B")]);
    });
    const events = [
      ["packets lost", sum(drops, "packets", step)],
      ["pauses sent", sum(pauses, "paused", step)],
      ["resumes sent", sum(pauses, "resumed", step)],
    ];
    events
      .filter(([, number]) => number > 0)
      .forEach(([name, number]) => pairs.push([name, thousands(number)]));
    const held = sum(pauses, "held", step);
    if (held > 0) pairs.push(["held as an egress", short(held, "us")]);
    showTip(event.clientX, event.clientY, rowsOfTip(pairs));
  };
}
