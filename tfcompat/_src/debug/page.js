"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const bySlot = new Map(data.tensors.map(t => [t.key.slice(0, t.key.lastIndexOf(":")), t]));
const consumers = new Map();
for (const [name, [, inputs]] of Object.entries(data.nodes))
  for (const input of inputs) {
    const source = slotName(input);
    if (!consumers.has(source)) consumers.set(source, []);
    consumers.get(source).push(name);
  }

function slotName(input) { return /:\d+$/.test(input) ? input : input + ":0"; }
function nodeOf(key) { return key.split(":")[0]; }
function typeOf(t) { return (data.nodes[nodeOf(t.key)] || [""])[0]; }
function make(tag, parent, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  if (parent) parent.appendChild(e);
  return e;
}
function drawing(parent, width, height) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  parent.appendChild(svg);
  return (tag, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    svg.appendChild(e);
    return e;
  };
}
function short(x) { return x === undefined ? "" : String(+x.toPrecision(5)); }
function badText(t) { return t.bad ? `${t.bad} of ${t.points.length} dumps with NaN or Inf` : ""; }

// The mean of each dump in a band from minimum to maximum; dumps with NaN or Inf are marked.
function chart(parent, t, width, height, withText) {
  const points = t.points, good = points.filter(p => p.mean !== undefined);
  const add = drawing(parent, width, height);
  const left = withText ? 70 : 1, bottom = withText ? 18 : 1;
  let low = Math.min(...good.map(p => withText ? p.min : p.mean)), high = Math.max(...good.map(p => withText ? p.max : p.mean));
  if (!(high > low)) { const by = Math.abs(high) * .05 || 1; low -= by; high += by; }
  const x = i => left + (width - left - 5) * (points.length > 1 ? i / (points.length - 1) : .5);
  const y = v => 5 + (height - bottom - 8) * (1 - (v / 2 - low / 2) / (high / 2 - low / 2));
  const path = f => points.map((p, i) => p.mean === undefined ? "" : `${x(i).toFixed(1)},${f(p).toFixed(1)}`).filter(Boolean);
  if (good.length > 1) {
    if (withText) add("polygon", {points: [...path(p => y(p.min)), ...path(p => y(p.max)).reverse()].join(" "), fill: "var(--band)"});
    add("polyline", {points: path(p => y(p.mean)).join(" "), fill: "none", stroke: "var(--bar)", "stroke-width": withText ? 1.5 : 1.2});
  } else if (good.length && withText) {
    const p = good[0], at = x(points.indexOf(p));
    add("line", {x1: at, x2: at, y1: y(p.min), y2: y(p.max), stroke: "var(--band)", "stroke-width": 8});
    add("circle", {cx: at, cy: y(p.mean), r: 3, fill: "var(--bar)"});
  }
  points.forEach((p, i) => { if (p.bad) add("circle", {cx: x(i), cy: p.mean === undefined ? height - bottom - 3 : y(p.mean), r: withText ? 3 : 1.6, fill: "var(--bad)"}); });
  if (!withText) return;
  const style = {fill: "currentColor", "font-size": 11, "text-anchor": "end"};
  if (good.length) { add("text", {...style, x: left - 6, y: 14}, short(high)); add("text", {...style, x: left - 6, y: height - bottom - 2}, short(low)); }
  const last = points.length - 1, label = p => data.runs > 1 ? `run ${p.run}` : `${(p.at / 1000).toFixed(1)} ms`;
  add("text", {...style, "text-anchor": "start", x: left, y: height - 3}, label(points[0]));
  if (last) add("text", {...style, x: width - 3, y: height - 3}, label(points[last]));
}

function histogram(parent, h) {
  const width = 640, height = 120, add = drawing(parent, width, height), most = Math.max(...h.counts), step = width / h.counts.length;
  h.counts.forEach((n, i) => {
    const tall = n ? Math.max(1, 96 * n / most) : 0;
    const bar = add("rect", {x: i * step, y: 100 - tall, width: step - 1, height: tall, fill: "var(--bar)"});
    bar.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "title")).textContent = String(n);
  });
  const style = {fill: "currentColor", "font-size": 11, y: 114};
  add("text", {...style, x: 0}, short(h.from));
  add("text", {...style, x: width, "text-anchor": "end"}, short(h.to));
}

function picture(parent, p) {
  const bytes = Uint8Array.from(atob(p.pixels), c => c.charCodeAt(0)), size = p.width * p.height;
  const scale = Math.max(1, Math.floor((p.count > 1 ? 96 : 320) / Math.max(p.width, p.height)));
  for (let tile = 0; tile < p.count; tile++) {
    const canvas = make("canvas", parent);
    canvas.width = p.width; canvas.height = p.height;
    canvas.style.width = p.width * scale + "px"; canvas.style.height = p.height * scale + "px";
    const context = canvas.getContext("2d"), image = context.createImageData(p.width, p.height);
    for (let i = 0; i < size; i++) {
      const v = bytes[tile * size + i], gray = Math.round(v * 255 / 253);
      image.data.set(v === 255 ? [220, 30, 30, 255] : v === 254 ? [240, 160, 0, 255] : [gray, gray, gray, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  }
}

function links(parent, title, names) {
  if (!names.length) return;
  make("h3", parent, title);
  const list = make("div", parent);
  for (const name of names) {
    const t = bySlot.get(slotName(name)), line = make("div", list), link = make("a", line, name, t ? "" : "none");
    if (t) { link.onclick = () => show(t); if (t.bad) make("span", line, " NaN or Inf", "bad"); }
  }
}

function dumps(parent, t) {
  make("h3", parent, t.count > t.points.length ? `${t.points.length} of ${t.count} dumps` : t.count === 1 ? "1 dump" : `${t.count} dumps`);
  const table = make("table", parent), head = make("tr", table), most = 50;
  for (const name of ["run", "ms", "shape", "min", "mean", "max", "std", "NaN", "Inf"]) make("th", head, name);
  const listed = t.points.slice(-most);
  for (const p of listed) {
    const row = make("tr", table, undefined, p.bad || p.error ? "bad" : "");
    const cells = [p.run, (p.at / 1000).toFixed(3), p.error || (p.shape ? `[${p.shape.join(", ")}]` : p.dtype), short(p.min), short(p.mean), short(p.max), short(p.std), p.nan || "", p.inf || ""];
    for (const cell of cells) make("td", row, String(cell));
  }
  if (t.points.length > most) make("p", parent, `The table has the last ${most}.`, "dim");
}

let shownRow = null;
const rows = new Map();
function show(t) {
  const detail = byId("detail"), node = nodeOf(t.key), [type, inputs, controls, device] = data.nodes[node] || ["", [], [], ""];
  detail.textContent = "";
  location.replace("#" + encodeURIComponent(t.key));
  if (shownRow) shownRow.classList.remove("on");
  shownRow = rows.get(t.key);
  if (shownRow) {
    for (let e = shownRow.parentElement; e.id !== "tree"; e = e.parentElement) e.open = true;
    shownRow.classList.add("on");
    shownRow.scrollIntoView({block: "nearest"});
  }
  make("h2", detail, t.key);
  const at = t.points[t.of === undefined ? t.points.length - 1 : t.of];
  make("div", detail, [type, at.dtype, at.shape && `[${at.shape.join(", ")}]`, device].filter(Boolean).join(" · "), "dim");
  if (t.bad) make("p", detail, badText(t), "bad");
  if (t.points.some(p => p.mean !== undefined || p.bad)) { make("h3", detail, "History: mean, from minimum to maximum"); chart(detail, t, 640, 150, true); }
  const which = t.points.length > 1 ? ` of ${data.runs > 1 ? `run ${at.run}` : `dump ${t.of + 1}`}${at.bad ? ", the first with NaN or Inf" : ", the last"}` : "";
  if (t.histogram) { make("h3", detail, "Histogram of finite values" + which); histogram(detail, t.histogram); }
  if (t.picture) { make("h3", detail, "Picture" + which + (at.bad ? ": NaN red, Inf orange" : "")); picture(detail, t.picture); }
  if (t.values && t.values.length) { make("h3", detail, "First values" + which); make("code", detail, t.values.join(", ")); }
  links(detail, "Inputs", inputs);
  links(detail, "Waits for", controls);
  links(detail, "Taken by", consumers.get(t.key.slice(0, t.key.lastIndexOf(":"))) || []);
  dumps(detail, t);
}

function matcher() {
  const text = byId("search").value, onlyBad = byId("only-bad").checked;
  let pattern;
  try { pattern = new RegExp(text, "i"); } catch (e) { pattern = {test: s => s.includes(text)}; }
  return t => (!onlyBad || t.bad) && (!text || pattern.test(t.key) || pattern.test(typeOf(t)));
}

function list() {
  const tree = byId("tree"), wanted = data.tensors.filter(matcher()), isFiltered = byId("search").value || byId("only-bad").checked;
  tree.textContent = "";
  rows.clear();
  const root = {scopes: new Map(), tensors: [], bad: 0, count: 0};
  for (const t of wanted) {
    let at = root;
    for (const part of nodeOf(t.key).split("/").slice(0, -1)) {
      if (!at.scopes.has(part)) at.scopes.set(part, {scopes: new Map(), tensors: [], bad: 0, count: 0});
      at = at.scopes.get(part);
      at.count++;
      if (t.bad) at.bad++;
    }
    at.tensors.push(t);
  }
  fill(tree, root, isFiltered || wanted.length < 40);
  if (!wanted.length) make("p", tree, "No tensor fits.", "dim");
}

function fill(parent, scope, isOpen) {
  for (const [name, inner] of scope.scopes) {
    const details = make("details", parent), summary = make("summary", details);
    make("b", summary, name + "/");
    make("span", summary, ` ${inner.count}`);
    if (inner.bad) make("span", summary, `  ${inner.bad} with NaN or Inf`, "bad");
    details.open = isOpen;
    fill(details, inner, isOpen);
  }
  for (const t of scope.tensors) {
    const row = make("div", parent, undefined, "row"), last = t.key.split("/").pop().replace(/:DebugIdentity$/, "");
    make("span", row, last, "name" + (t.bad ? " bad" : ""));
    make("span", row, typeOf(t), "type");
    if (t.points.length > 1) chart(row, t, 64, 16, false);
    row.onclick = () => show(t);
    rows.set(t.key, row);
  }
}

function turn(isGraph) {
  byId("graph").hidden = !isGraph;
  byId("tensors").hidden = isGraph;
  byId("show-graph").classList.toggle("on", isGraph);
  byId("show-tensors").classList.toggle("on", !isGraph);
}

const bad = data.tensors.filter(t => t.bad);
byId("about").textContent = `${data.title}: ${data.runs === 1 ? "1 run" : data.runs + " runs"}, ${data.tensors.length} tensors` + (bad.length ? `, ${bad.length} with NaN or Inf` : "");
byId("show-tensors").onclick = () => turn(false);
byId("show-graph").onclick = () => turn(true);
byId("search").oninput = list;
byId("only-bad").onchange = list;
document.querySelector("form").onsubmit = e => e.preventDefault();
list();
// The first that went bad: of those in the earliest run, the one that was dumped first.
const firstBad = t => t.points.find(p => p.bad);
bad.sort((a, b) => firstBad(a).run - firstBad(b).run || firstBad(a).at - firstBad(b).at);
const asked = decodeURIComponent(location.hash.slice(1));
if (data.tensors.length) show(data.tensors.find(t => t.key === asked) || bad[0] || data.tensors[0]);
if (asked === "graph") turn(true);
