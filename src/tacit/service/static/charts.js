// Draws the figures of a page with Plotly, from the JSON beside each of them; light and dark.
"use strict";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const lines = ["#9a5b00", "#00796b", "#8e44ad", "#c2185b", "#5d6d7e", "#827717"];
const isWide = () => window.innerWidth > 640;

function layout(more) {
  const ink = colour("--ink"), line = colour("--line");
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
  const font = { color: ink, family: "system-ui, sans-serif", size: 13 };
  const base = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font, margin: { t: 36, r: 16, b: 48, l: 56 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, autosize: true };
  for (const name of ["xaxis", "yaxis", "yaxis2"]) if (more[name]) more[name] = { ...axis, ...more[name] };
  return { ...base, ...more };
}

function short(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

// Shares of wrong answers are shown as right answers of 100; other costs as they are.
const scaled = (told) => (told.measure === "hamming" ? (value) => (value === null ? null : 100 * (1 - value)) : (value) => value);
const unit = (told) => (told.measure === "hamming" ? "right answers, of 100" : told.measure === "information" ? "bits about what is asked" : `${told.measure} error`);

function timeline(releases) {
  const x = releases.map((each) => each.entry);
  const text = releases.map((each) => short(`${each.request} for ${each.party}`, 60));
  const ticks = releases.map((each) => `${each.entry}<br>${short(each.party, 10)}<br>${short(each.request, 12)}${each.cohort ? `<br>cohort ${each.cohort}` : ""}`);
  const place = x.map((_, k) => k);
  const hover = "%{text}<br>%{y:.3f}<extra>%{fullData.name}</extra>";
  const share = (name) => releases.map((each) => (each[name] === null ? null : 100 * each[name]));
  const parties = [...new Set(releases.map((each) => each.party))];
  const traces = [
    { type: "bar", name: "right answers, of 100", x: place, y: share("right"), text, textposition: "none", hovertemplate: hover, marker: { color: colour("--bar"), opacity: 0.55 } },
    { type: "scatter", mode: "markers", name: "a blind guess", x: place, y: share("guessed"), text, hovertemplate: hover, marker: { symbol: "line-ew-open", size: 28, color: colour("--ink"), line: { width: 2, color: colour("--ink") } } },
    { type: "scatter", mode: "lines+markers", name: "everyone holds", x: place, y: releases.map((each) => each.everyone_bits), yaxis: "y2", text, hovertemplate: hover, line: { color: colour("--full"), width: 3 } },
    ...parties.map((party, k) => ({ type: "scatter", mode: "lines+markers", name: `${party} holds`, x: place, y: releases.map((each) => each.party_bits[party] ?? 0), showlegend: isWide(), yaxis: "y2", text, hovertemplate: hover, line: { color: lines[k % lines.length], width: 1.5, dash: "dot" } })),
  ];
  const named = isWide() ? { tickvals: place, ticktext: ticks } : { tickvals: place, ticktext: x, title: { text: "release" } };
  const title = (text) => ({ text: isWide() ? text : "" });
  return [traces, layout({
    xaxis: named,
    yaxis: { title: title("right answers, of 100"), range: [0, 105] },
    yaxis2: { title: title("bits about one record"), overlaying: "y", side: "right", rangemode: "tozero", showgrid: false, tickmode: "auto", nticks: 6 },
  })];
}

function curve(told) {
  const y = told.curve.map((each) => scaled(told)(each.value));
  const asked = told.curve.filter((each) => each.is_asked);
  return [[
    { type: "scatter", mode: "lines+markers", name: "best possible", x: told.curve.map((each) => each.bits), y, line: { color: colour("--bar") } },
    { type: "scatter", mode: "markers", name: "this quote", x: asked.map((each) => each.bits), y: asked.map((each) => scaled(told)(each.value)), marker: { size: 14, color: colour("--full") } },
  ], layout({ xaxis: { title: { text: "bits to the party" } }, yaxis: { title: { text: unit(told) } } })];
}

const hasDepth = Boolean(document.createElement("canvas").getContext("webgl"));
const blues = [[0, "#dbe8fa"], [1, "#3b78cf"]];

// Where the browser draws no depth, the same as a map with lines of equal worth.
function surface(told, at) {
  const z = told.values.map((row) => row.map(scaled(told)));
  const common = { x: told.collusion, y: told.individual, z, colorscale: blues, reversescale: !["hamming", "information"].includes(told.measure), showscale: false, connectgaps: false, hovertemplate: "everyone %{x:.3f}, party %{y:.3f}<br>%{z:.4f}<extra></extra>" };
  const point = { name: "the limits", x: [at.everyone], y: [at.limit], marker: { size: 14, color: colour("--full"), line: { color: "#ffffff", width: 2 } }, hoverinfo: "skip", mode: "markers" };
  const x = "δ, bits", y = "ε, bits", titled = (text) => ({ title: { text } });
  const shared = { showlegend: false, title: { text: `D(ε, δ): ${unit(told)}`, font: { size: 15 } } };
  if (!hasDepth) {
    const map = { ...common, type: "contour", contours: { showlabels: true, labelfont: { color: "#10151b" } } };
    return [[map, { ...point, type: "scatter" }], layout({ ...shared, xaxis: titled(x), yaxis: titled(y) })];
  }
  const height = scaled(told)(read(told, at.limit, at.everyone)), heights = z.flat().filter((each) => each !== null);
  const lift = 0.02 * (Math.max(...heights) - Math.min(...heights)); // so that the surface does not hide half of the point
  const above = { ...point, type: "scatter3d", z: [height === null ? null : height + lift], marker: { ...point.marker, size: 7 } };
  const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), showspikes: false, nticks: 5 };
  const scene = { xaxis: { ...axis, ...titled(x) }, yaxis: { ...axis, ...titled(y) }, zaxis: { ...axis, ...titled("") }, camera: { eye: { x: -1.7, y: -1.7, z: 0.8 } }, aspectmode: "cube" };
  return [[{ ...common, type: "surface", opacity: 0.92 }, above], layout({ ...shared, scene, uirevision: "turned", margin: { t: 36, r: 0, b: 0, l: 0 } })];
}

function slice(told, at) {
  return [[
    { type: "scatter", mode: "lines+markers", name: "best possible", x: told.individual, y: told.individual.map((bits) => scaled(told)(read(told, bits, at.everyone))), line: { color: colour("--bar") } },
    { type: "scatter", mode: "markers", name: "the limits", x: [at.limit], y: [scaled(told)(read(told, at.limit, at.everyone))], marker: { size: 14, color: colour("--full") } },
    { type: "scatter", mode: "lines", name: "a blind guess", x: [told.individual[0], told.individual.at(-1)], y: [scaled(told)(told.blind), scaled(told)(told.blind)], line: { color: colour("--quiet"), dash: "dot" } },
  ], layout({ xaxis: { title: { text: "ε: limit of the party, bits" } }, yaxis: { title: { text: unit(told) } } })];
}

// Between points of the grid, bilinear; at its edges, the nearest.
function read(told, limit, everyone) {
  const [i, u] = between(told.individual, limit), [j, v] = between(told.collusion, everyone);
  const corners = [[i, j, (1 - u) * (1 - v)], [i + 1, j, u * (1 - v)], [i, j + 1, (1 - u) * v], [i + 1, j + 1, u * v]].filter((each) => each[2] > 0);
  if (corners.some(([a, b]) => told.values[a][b] === null)) return null;
  return corners.reduce((sum, [a, b, weight]) => sum + weight * told.values[a][b], 0);
}

function between(grid, value) {
  if (value <= grid[0]) return [0, 0];
  for (let k = 1; k < grid.length; k += 1) if (value <= grid[k]) return [k - 1, (value - grid[k - 1]) / (grid[k] - grid[k - 1])];
  return [grid.length - 1, 0];
}

const figures = { timeline, curve, surface, slice };
const charts = [...document.querySelectorAll("[data-chart]")].map((place) => ({ place, kind: place.dataset.chart, told: JSON.parse(place.nextElementSibling.textContent) }));
const chosen = Object.fromEntries([...document.querySelectorAll("[data-moves]")].map((each) => [each.dataset.moves, Number(each.value)]));

function draw() {
  for (const { place, kind, told } of charts) {
    const [traces, arranged] = figures[kind](told, chosen);
    Plotly.react(place, traces, arranged, { displayModeBar: false, responsive: true });
  }
}

// Once for all that moved since the last picture: depth takes long to draw on some machines.
let isDue = false;
function drawSoon() {
  if (!isDue) requestAnimationFrame(() => { isDue = false; draw(); });
  isDue = true;
}

function say() {
  const place = document.getElementById("read"), told = charts.find((each) => each.kind === "surface")?.told;
  if (!place || !told) return;
  const value = read(told, chosen.limit, chosen.everyone);
  const worth = value === null ? "nothing is left" : told.measure === "hamming" ? `about ${(100 * (1 - value)).toFixed(1)} of 100 right` : `about ${value.toFixed(4)} (${told.measure})`;
  place.textContent = `With ${chosen.limit.toFixed(3)} bits for ${told.party} and ${chosen.everyone.toFixed(3)} for everyone, if no other limit is in the way: ${worth}.`;
}

for (const slider of document.querySelectorAll("[data-moves]")) {
  const field = document.getElementsByName(slider.dataset.moves)[0];
  const move = (value) => { chosen[slider.dataset.moves] = value; say(); drawSoon(); };
  slider.addEventListener("input", () => { field.value = slider.value; move(Number(slider.value)); });
  field.addEventListener("change", () => { if (Number(field.value) > 0) { slider.value = field.value; move(Number(field.value)); } });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
say();
draw();
