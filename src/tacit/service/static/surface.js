// Says what the limits at the sliders would buy, read off the surface that was traced.
"use strict";

const told = JSON.parse(document.getElementById("surface").textContent);
const sliders = [...document.querySelectorAll("[data-moves]")];

// Between points of the grid, bilinear; at its edges, the nearest.
function read(limit, everyone) {
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

function say() {
  const [limit, everyone] = sliders.map((each) => Number(each.value));
  const value = read(limit, everyone);
  const worth = value === null ? "nothing is left" : told.measure === "hamming" ? `about ${(100 * (1 - value)).toFixed(1)} of 100 right` : `about ${value.toFixed(4)} (${told.measure})`;
  document.getElementById("read").textContent = `With ${limit.toFixed(3)} bits for ${told.party} and ${everyone.toFixed(3)} for everyone, if no other limit is in the way: ${worth}.`;
}

for (const slider of sliders) {
  const field = document.getElementsByName(slider.dataset.moves)[0];
  slider.addEventListener("input", () => { field.value = slider.value; say(); });
  field.addEventListener("change", () => { if (Number(field.value) > 0) { slider.value = field.value; say(); } });
}
say();
