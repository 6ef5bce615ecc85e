// Draws DATA = {nodes: [[name, type, [[source, shape]...], [source of a control edge...], device]...], devices: [name...]}.
// Operations lie in the scopes of their names. Only open scopes are laid out, each by itself: layers along data edges (Sugiyama's method:
// longest paths, edges against the depth-first order turned, barycenters), so the time depends on what is open, not on the graph's size.
"use strict";
const COLORS = ["#e8eaee", "#a9d5a5", "#f6c27f", "#9fc6ef", "#e7a8b9", "#cbb3e3", "#f0e08a", "#9fded3"];
const READABLE = 0.8; // the scale below which a picture that was opened is not made smaller
const HEIGHT = 26, GAP_X = 22, GAP_Y = 42, PAD = 14, TITLE = 24, MANY = 60, MOST = 300;
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
const canvas = byId("canvas"), facts = byId("facts");

function make(parent, tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}

// The tree of scopes.
const operations = DATA.nodes.map(([name, type, inputs, controls, device]) => ({ name, type, inputs, controls, device, users: [], size: 1 }));
const scope = (name, title, parent) => ({ name, title, parent, children: [], inner: new Map(), open: false, size: 0 });
const root = scope("", "", null);
root.open = true;
const names = new Set();
for (const { name } of operations) for (let i = name.indexOf("/"); i > 0; i = name.indexOf("/", i + 1)) names.add(name.slice(0, i));
for (const [index, operation] of operations.entries()) {
  operation.inputs.forEach(([source]) => operations[source].users.push(index));
  const parts = operation.name.split("/");
  const depth = names.has(operation.name) ? parts.length : parts.length - 1; // "w" stands inside of the scope "w"
  let at = root;
  for (let i = 0; i < depth; i++) {
    if (!at.inner.has(parts[i])) {
      const made = scope(parts.slice(0, i + 1).join("/"), parts[i], at);
      at.inner.set(parts[i], made);
      at.children.push(made);
    }
    at = at.inner.get(parts[i]);
  }
  operation.title = depth === parts.length ? "(" + parts[depth - 1] + ")" : parts[depth];
  operation.parent = at;
  at.children.push(operation);
}

// In a scope with many children, those whose names differ in their number alone become one.
function bundle(at) {
  if (at.children.length > MANY) {
    const alike = new Map();
    for (const child of at.children) {
      const key = child.title.replace(/_\d+$/, "");
      alike.set(key, [...(alike.get(key) || []), child]);
    }
    at.children = [];
    for (const [key, members] of alike) {
      if (members.length < 10 || alike.size === 1) at.children.push(...members);
      else {
        const made = scope(at.name ? at.name + "/" + key : key, key + " × " + members.length, at);
        made.children = members;
        members.forEach((m) => (m.parent = made));
        at.children.push(made);
      }
    }
  }
  at.devices = new Set();
  for (const child of at.children) {
    if (child.children && !child.devices) bundle(child);
    at.size += child.size;
    (child.devices || [child.device]).forEach((d) => at.devices.add(d));
  }
}
bundle(root);

// Which child of which scope an edge joins: the children of the innermost scope that holds both ends.
function lineage(item) {
  const line = [];
  for (; item; item = item.parent) line.unshift(item);
  return line;
}
function edgesOfOpenScopes() {
  const found = new Map();
  const lines = operations.map(lineage);
  const add = (from, to, shape, control) => {
    const a = lines[from], b = lines[to];
    let i = 0;
    while (a[i] === b[i] && i < a.length - 1 && i < b.length - 1) i++;
    if (a[i] === b[i] || !a[i].parent.open) return;
    const edges = found.get(a[i].parent) || found.set(a[i].parent, new Map()).get(a[i].parent);
    const inner = edges.get(a[i]) || edges.set(a[i], new Map()).get(a[i]);
    const edge = inner.get(b[i]) || inner.set(b[i], { from: a[i], to: b[i], tensors: new Map(), control: true }).get(b[i]);
    if (!control) { edge.control = false; edge.tensors.set(from + shape, shape); }
  };
  operations.forEach((operation, index) => {
    operation.inputs.forEach(([source, shape]) => add(source, index, shape, false));
    operation.controls.forEach((source) => add(source, index, "", true));
  });
  const lists = new Map();
  for (const [at, edges] of found) lists.set(at, [...edges.values()].flatMap((inner) => [...inner.values()]));
  return lists;
}

// The layout of one scope: sets x, y of its children and returns its width and height.
function layOut(at, edgesOf) {
  for (const child of at.children) {
    child.width = Math.max(44, 7 * child.title.length + 18 + (child.children ? 16 : 0));
    child.height = HEIGHT;
    if (child.open) {
      const least = child.width;
      [child.width, child.height] = layOut(child, edgesOf);
      child.width = Math.max(child.width, least);
    }
  }
  const all = edgesOf.get(at) || [];
  const joined = new Set(all.filter((e) => !e.control).flatMap((e) => [e.from, e.to]));
  const main = at.children.length > MOST ? [] : at.children.filter((c) => joined.has(c));
  const isMain = new Set(main);
  at.drawn = all.filter((e) => isMain.has(e.from) && isMain.has(e.to));
  const layers = ranked(main, at.drawn);
  const [width, height] = placed(layers);
  // What no data comes to or leaves (initializers, savers) stands in columns at the right.
  const rest = at.children.filter((c) => !isMain.has(c));
  const rows = Math.max(6, Math.ceil(Math.sqrt(rest.length) * 1.5));
  let x = width && rest.length ? width + 2 * GAP_X : width, y = 0, widest = 0, lowest = height;
  rest.forEach((child, i) => {
    if (i && i % rows === 0) { x += widest + GAP_X; y = widest = 0; }
    child.x = x; child.y = y;
    y += child.height + 12;
    widest = Math.max(widest, child.width); lowest = Math.max(lowest, y - 12);
  });
  for (const child of at.children) { child.x += PAD; child.y += PAD + TITLE; }
  for (const edge of at.drawn) edge.points.forEach((p) => { p.x += PAD; p.y += PAD + TITLE; });
  return [x + widest + 2 * PAD, lowest + 2 * PAD + TITLE];
}

function ranked(items, edges) {
  const out = new Map(items.map((i) => [i, []])), state = new Map(), order = [];
  edges.forEach((e) => out.get(e.from).push(e));
  const targets = new Set(edges.map((e) => e.to));
  for (const first of [...items.filter((i) => !targets.has(i)), ...items]) {
    const stack = state.has(first) ? [] : [[first, 0]];
    if (stack.length) state.set(first, 1);
    while (stack.length) {
      const top = stack[stack.length - 1], edge = out.get(top[0])[top[1]++];
      if (!edge) { state.set(top[0], 2); order.unshift(top[0]); stack.pop(); continue; }
      edge.back = state.get(edge.to) === 1 || /NextIteration$/.test(edge.from.type || ""); // so that each loop variable goes down
      if (edge.back) continue;
      if (!state.has(edge.to)) { state.set(edge.to, 1); stack.push([edge.to, 0]); }
    }
  }
  const rank = new Map(items.map((i) => [i, 0]));
  for (const item of order) for (const e of out.get(item)) if (!e.back) rank.set(e.to, Math.max(rank.get(e.to), rank.get(item) + 1));
  for (const item of [...order].reverse()) { // sources stand next to their first user
    const uses = out.get(item).filter((e) => !e.back);
    if (uses.length && !targets.has(item)) rank.set(item, Math.min(...uses.map((e) => rank.get(e.to))) - 1);
  }
  const layers = [];
  const put = (item, r) => (layers[r] = layers[r] || []).push(item);
  order.forEach((item) => { item.above = []; item.below = []; put(item, rank.get(item)); });
  for (const edge of edges) { // a point in each layer that an edge passes
    const [a, b] = edge.back ? [edge.to, edge.from] : [edge.from, edge.to];
    let before = a;
    edge.passed = [];
    for (let r = rank.get(a) + 1; r <= rank.get(b); r++) {
      const next = r === rank.get(b) ? b : { width: 6, height: 0, above: [], below: [] };
      before.below.push(next); next.above.push(before);
      if (next !== b) { edge.passed.push(next); put(next, r); }
      before = next;
    }
    if (edge.back) edge.passed.reverse();
  }
  for (let pass = 0; pass < 8; pass++) {
    const side = pass % 2 ? "below" : "above";
    for (const layer of pass % 2 ? [...layers].reverse() : layers) {
      layer.forEach((item, i) => {
        const near = item[side];
        item.key = near.length ? near.reduce((sum, n) => sum + n.place, 0) / near.length : (i + 0.5) / layer.length;
        if (Number.isNaN(item.key)) item.key = (i + 0.5) / layer.length;
      });
      layer.sort((a, b) => a.key - b.key);
      layer.forEach((item, i) => (item.place = (i + 0.5) / layer.length));
    }
  }
  return { layers, edges };
}

function placed({ layers, edges }) {
  const widths = layers.map((l) => l.reduce((sum, i) => sum + i.width + GAP_X, -GAP_X));
  const width = Math.max(0, ...widths);
  let y = 0;
  layers.forEach((layer, r) => {
    let x = (width - widths[r]) / 2;
    for (const item of layer) { item.x = x; x += item.width + GAP_X; }
  });
  for (let pass = 0; pass < 6; pass++) { // items move under what they are joined to, as far as neighbours let them
    for (const layer of pass % 2 ? [...layers].reverse() : layers) {
      layer.forEach((item, i) => {
        const near = pass % 2 ? item.below : item.above;
        if (!near.length) return;
        const wish = near.reduce((sum, n) => sum + n.x + n.width / 2, 0) / near.length - item.width / 2;
        const least = i ? layer[i - 1].x + layer[i - 1].width + GAP_X : 0;
        const most = i + 1 < layer.length ? layer[i + 1].x - GAP_X - item.width : width - item.width;
        item.x = Math.max(least, Math.min(wish, most));
      });
    }
  }
  for (const layer of layers) {
    const height = Math.max(HEIGHT, ...layer.map((i) => i.height));
    for (const item of layer) { item.y = y + (height - item.height) / 2; item.top = y; item.bottom = y + height; }
    y += height + GAP_Y;
  }
  const middle = (item) => item.x + item.width / 2;
  const sides = new Map(); // the ends of edges at the upper and the lower side of an item, which share its width
  const end = (item, low, toward) => {
    const point = { x: 0, y: item.y + (low ? item.height : 0), toward: middle(toward) };
    const ends = sides.get(item) || sides.set(item, [[], []]).get(item);
    ends[low ? 1 : 0].push(point);
    return point;
  };
  for (const edge of edges) {
    const { from, to, passed, back } = edge;
    const bends = passed.flatMap((p) => { // straight past an open scope
      const [first, last] = back ? [p.bottom, p.top] : [p.top, p.bottom];
      return p.bottom - p.top > HEIGHT ? [{ x: middle(p), y: first }, { x: middle(p), y: last }] : [{ x: middle(p), y: p.y }];
    });
    edge.points = [end(from, !back, passed[0] || to), ...bends, end(to, back, passed[passed.length - 1] || from)];
  }
  for (const [item, both] of sides) for (const ends of both) {
    ends.sort((p, q) => p.toward - q.toward);
    ends.forEach((p, i) => (p.x = item.x + (item.width * (i + 1)) / (ends.length + 1)));
  }
  return [width, Math.max(0, y - GAP_Y)];
}

// Drawing.
let chosen = null, view = null;
const color = (item) => (item.devices ? (item.devices.size === 1 ? COLORS[[...item.devices][0] % COLORS.length] : "#fff") : COLORS[item.device % COLORS.length]);

function drawEdge(parent, edge) {
  let line = "";
  edge.points.forEach((p, i) => {
    const q = edge.points[i - 1], middle = q && (p.y + q.y) / 2;
    line += i ? `C${q.x},${middle} ${p.x},${middle} ${p.x},${p.y}` : `M${p.x},${p.y}`;
  });
  make(parent, "path", { d: line, class: edge.control ? "control" : edge.back ? "back" : "data", "marker-end": "url(#arrow)" });
}

// The shapes of an edge stand at the first place along it, from its end, that is free; they are left out where there is none.
function drawShapes(parent, edge, taken) {
  const shapes = [...edge.tensors.values()], text = shapes.length > 1 ? shapes.length + " tensors" : shapes[0];
  if (!text) return;
  const w = 5.6 * text.length + 4, h = 12;
  for (let i = edge.points.length - 1; i > 0; i--) {
    const p = edge.points[i - 1], q = edge.points[i];
    for (const t of [0.5, 0.35, 0.65, 0.22, 0.78]) {
      const near = t * t * (3 - 2 * t); // how far the curve of drawEdge has gone sideways
      const box = { x: p.x + near * (q.x - p.x) - w / 2, y: ((1 - t) ** 3 + 1.5 * t * (1 - t)) * p.y + (t ** 3 + 1.5 * t * (1 - t)) * q.y - h / 2, w, h };
      if (taken.some((o) => box.x < o.x + o.w && o.x < box.x + w && box.y < o.y + o.h && o.y < box.y + h)) continue;
      taken.push(box);
      make(parent, "text", { class: "shape", x: box.x + w / 2, y: box.y + 9, "text-anchor": "middle" }, text);
      return;
    }
  }
}

function drawScope(parent, at) {
  for (const child of at.children) {
    const kind = child.children ? (child.open ? "scope open" : "scope") : "operation";
    const group = make(parent, "g", { transform: `translate(${child.x},${child.y})`, class: kind + (child === chosen ? " chosen" : ""), "data-name": child.name });
    const box = make(group, "rect", { width: child.width, height: child.height, rx: child.children ? 4 : 13, fill: color(child) });
    make(box, "title", {}, child.children ? `${child.name}: ${child.size} operations` : `${child.name} (${child.type})`);
    box.addEventListener("click", () => (child.children ? toggle(child) : show(child)));
    const title = child.children ? (child.open ? "− " : "+ ") + child.title : child.title;
    const x = child.open ? 8 : child.width / 2;
    make(group, "text", { x, y: 17, "text-anchor": child.open ? "start" : "middle", class: child.children ? "title" : "" }, title);
    if (child.open) drawScope(group, child);
  }
  at.drawn.forEach((edge) => drawEdge(parent, edge));
  const taken = at.children.map((child) => ({ x: child.x, y: child.y, w: child.width, h: child.height }));
  at.drawn.forEach((edge) => drawShapes(parent, edge, taken));
}

function draw() {
  const [width, height] = layOut(root, edgesOfOpenScopes());
  canvas.replaceChildren();
  const marker = make(make(canvas, "defs", {}), "marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" });
  make(marker, "path", { d: "M0,0L8,4L0,8z", style: "fill:#8a919c;stroke:none" });
  drawScope(canvas, root);
  return { x: 0, y: TITLE, width, height: height - TITLE };
}
function look(box) { view = box; canvas.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`); }
function fit(box) { // not larger than life
  const w = Math.max(box.width, canvas.clientWidth || 1), h = Math.max(box.height, canvas.clientHeight || 1);
  look({ x: box.x - (w - box.width) / 2, y: box.y, width: w, height: h });
}
function reveal(item, box) { // everything where it can be read then, else the part around an item
  const w = canvas.clientWidth / READABLE, h = canvas.clientHeight / READABLE;
  if (box.width <= w && box.height <= h) return fit(box);
  let x = item.width / 2, y = 0;
  for (let at = item; at.parent; at = at.parent) { x += at.x; y += at.y; }
  const most = Math.max(box.x, box.x + box.width - w), lowest = Math.max(box.y, box.y + box.height - h);
  look({ x: box.width <= w ? box.x - (w - box.width) / 2 : Math.min(Math.max(box.x, x - w / 2), most), y: Math.min(Math.max(box.y, y - GAP_Y), lowest), width: w, height: h });
}
function toggle(item) { item.open = !item.open; reveal(item, draw()); }
function show(operation) {
  chosen = operation;
  facts.replaceChildren();
  const say = (text, tag) => (facts.appendChild(document.createElement(tag || "div")).textContent = text);
  say(operation.name, "b");
  say(operation.type + (DATA.devices[operation.device] ? " on " + DATA.devices[operation.device] : ""));
  operation.inputs.forEach(([source, shape]) => say(`← ${operations[source].name}  ${shape}`));
  operation.controls.forEach((source) => say(`← ${operations[source].name}  (control)`));
  operation.users.slice(0, 20).forEach((user) => say(`→ ${operations[user].name}`));
  facts.style.display = "block";
  draw();
}
byId("find").addEventListener("change", (event) => {
  const word = event.target.value;
  const found = word && (operations.find((o) => o.name === word) || operations.find((o) => o.name.includes(word)));
  if (!found) return;
  for (let at = found.parent; at; at = at.parent) at.open = true;
  show(found);
  reveal(found, draw());
});
byId("fit").addEventListener("click", () => fit(draw()));
canvas.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return; // the notebook scrolls
  event.preventDefault();
  const scale = Math.exp(event.deltaY / 500), px = event.offsetX / canvas.clientWidth, py = event.offsetY / canvas.clientHeight;
  const { x, y, width, height } = view;
  look({ x: x + width * px * (1 - scale), y: y + height * py * (1 - scale), width: width * scale, height: height * scale });
}, { passive: false });
canvas.addEventListener("pointermove", (event) => {
  if (!event.buttons) return;
  const scale = Math.max(view.width / canvas.clientWidth, view.height / canvas.clientHeight);
  look({ ...view, x: view.x - event.movementX * scale, y: view.y - event.movementY * scale });
});
byId("count").textContent = operations.length + " operations";
DATA.devices.forEach((device, i) => {
  const entry = byId("key").appendChild(document.createElement("span"));
  entry.appendChild(document.createElement("i")).style.background = COLORS[i % COLORS.length];
  entry.append(device || "no device");
});
let opened = root;
for (const name of OPEN) { const at = name.split("/").reduce((s, part) => s && s.inner.get(part), root); if (at) (opened = at).open = true; }
reveal(opened, draw());
