// Shows the formulas of a page as MathML, which browsers draw with the fonts that they have.
document.addEventListener("DOMContentLoaded", () => {
  for (const formula of document.querySelectorAll(".arithmatex")) {
    const [, opening, text] = formula.textContent.match(/^(\\\(|\\\[)([^]*)\\[)\]]$/);
    katex.render(text, formula, {displayMode: opening === "\\[", output: "mathml"});
  }
});
