// Elements, the tooltip, and what every part needs to draw itself.

const content = JSON.parse(document.getElementById("content").textContent);
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child);
  }
  return node;
}

// Text of the dataset only ever becomes a text node here, never markup.
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function bodyOf(section) {
  return document.querySelector("#" + section + " .body");
}

// A table that is only read: heads are [text, class], rows are elements.
function plainTable(heads, rows) {
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "plain" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map(([text, kind]) => el("th", { class: kind }, text)),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );
}

// A labelled control.
function field(label, control, kind) {
  return el(
    "label",
    { class: "field" + (kind ? " " + kind : "") },
    kind === "check" ? [control, label] : [label, control],
  );
}

// A select; options are [value, text] or {group, options}.
function choice(id, options, chosen, change) {
  const option = ([value, text]) =>
    el("option", { value, selected: String(value) === String(chosen) }, text);
  const all = options.map((o) =>
    o.group ? el("optgroup", { label: o.group }, o.options.map(option)) : option(o),
  );
  return el("select", { id, onchange: (event) => change(event.target.value) }, all);
}

// Replaces the controls of a part; the one that has the focus keeps it.
function replaceControls(place, controls) {
  const focused =
    document.activeElement && place.contains(document.activeElement)
      ? document.activeElement.id
      : "";
  place.replaceChildren(...controls.flat(2).filter(Boolean));
  const again = focused && document.getElementById(focused);
  if (again) again.focus({ preventScroll: true });
}

const tip = document.getElementById("tip");

function showTip(x, y, ...children) {
  tip.replaceChildren(
    ...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false),
  );
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  let left = x + 14;
  if (left + box.width > room - 8) left = Math.max(8, x - 14 - box.width);
  let top = y + 14;
  if (top + box.height > window.innerHeight - 8) top = Math.max(8, y - 14 - box.height);
  tip.style.left = left + "px";
  tip.style.top = top + "px";
}

function hideTip() {
  tip.hidden = true;
}

function rowsOfTip(pairs) {
  return el(
    "table",
    {},
    el(
      "tbody",
      {},
      pairs.map(([name, value]) => el("tr", {}, el("td", {}, name), el("td", {}, value))),
    ),
  );
}

// Width of what is drawn on paper, px.
const PAPER = 700;

// Calls `redraw` when the width of `node` has changed, and for paper.
function onWidth(node, redraw) {
  let last = 0;
  window.addEventListener("beforeprint", () => redraw(PAPER));
  window.addEventListener("afterprint", () => {
    if (last > 0) redraw(last);
  });
  new ResizeObserver(() => {
    const width = Math.floor(node.clientWidth);
    if (width === last || width === 0) return;
    last = width;
    redraw(width);
  }).observe(node);
}

const ruler = document.createElement("canvas").getContext("2d");

// Width of a text in a chart, px.
function widthOf(text, size) {
  ruler.font =
    (size || 12) + "px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
  return ruler.measureText(text).width;
}

// The text, cut to a width.
function cut(text, width, size) {
  if (widthOf(text, size) <= width) return text;
  let low = 1;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(text.slice(0, middle) + "…", size) <= width) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low) + "…";
}

// Of lists of any length.
const largest = (list) => list.reduce((a, b) => (b > a ? b : a), -Infinity);
const smallest = (list) => list.reduce((a, b) => (b < a ? b : a), Infinity);
