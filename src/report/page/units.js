// Quantities as the command line prints them: exact in a tooltip, four figures elsewhere.

const STEPS = {
  B: [
    [1e12, "TB"],
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "KB"],
    [1, "B"],
  ],
  ps: [
    [1e12, "s"],
    [1e9, "ms"],
    [1e6, "us"],
    [1e3, "ns"],
    [1, "ps"],
  ],
  us: [
    [1e6, "s"],
    [1e3, "ms"],
    [1, "us"],
  ],
  "bit/s": [
    [1e12, "Tbps"],
    [1e9, "Gbps"],
    [1e6, "Mbps"],
    [1e3, "kbps"],
    [1, "bps"],
  ],
};

function thousands(value) {
  const [whole, part] = String(value).split(".");
  if (whole.includes("e")) return String(value);
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
}

function count(number, noun) {
  return thousands(number) + " " + noun + (number === 1 ? "" : "s");
}

function isShare(figure) {
  return (
    figure && (/(_fraction|_fraction_mean|_share)$/.test(figure.name) || figure.name === "lossy")
  );
}

// Four figures at most, no zeros at the end.
function figures(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  return thousands(
    String(
      Number(value.toPrecision(size >= 1000 ? Math.max(4, Math.ceil(Math.log10(size + 1))) : 4)),
    ),
  );
}

// `46KB`, `25.61us`, `1,234`, `99.7 %`.
function short(value, unit, figure) {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  if (isShare(figure)) return figures(Number((number * 100).toPrecision(3))) + " %";
  if (unit === "%") return figures(Number(number.toPrecision(3))) + " %";
  const steps = STEPS[unit];
  if (!steps || number === 0)
    return (
      figures(number) + (steps && unit !== "ps" ? steps[steps.length - 1][1] : steps ? "s" : "")
    );
  const [step, name] =
    steps.find(([least]) => Math.abs(number) >= least) || steps[steps.length - 1];
  return figures(number / step) + name;
}

// `46,000 B (46KB)`, `0.9974 (99.7 %)`.
function exact(value, unit, figure) {
  if (value === null || value === undefined) return "no value";
  const base = STEPS[unit] ? " " + (unit === "bit/s" ? "bit/s" : unit) : unit === "%" ? " %" : "";
  const whole = thousands(value) + base;
  const brief = short(value, unit, figure);
  const same = brief.replace(/ /g, "") === whole.replace(/ /g, "");
  return same || (!STEPS[unit] && !isShare(figure)) ? whole : whole + " (" + brief + ")";
}

// Round numbers from 0 to `most` in a unit: [value, text] each.
function ticks(most, unit, wanted) {
  if (!(most > 0)) return [[0, short(0, unit)]];
  const steps = STEPS[unit];
  const scale = steps ? (steps.find(([least]) => most >= least) || steps[steps.length - 1])[0] : 1;
  const rough = most / scale / wanted;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) * scale;
  const all = [];
  for (let n = 0; n * step <= most * 1.0001; n += 1)
    all.push([n * step, short(Number((n * step).toPrecision(12)), unit)]);
  return all;
}

// `2026-12-01 02:25:29 UTC` of us since 1970.
function moment(us) {
  return new Date(us / 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

function plainName(name) {
  return name.replace(/_/g, " ");
}
