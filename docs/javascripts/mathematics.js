// Shows the formulas of a page as MathML, which browsers draw with the fonts that they have.
document.addEventListener("DOMContentLoaded", () => {
  for (const formula of document.querySelectorAll(".arithmatex")) {
    const [, opening, text] = formula.textContent.match(/^(\\\(|\\\[)([^]*)\\[)\]]$/);
    katex.render(text, formula, {displayMode: opening === "\\[", output: "mathml"});
    // Browsers do not know this variant: take the letters that have it, from U+1D538 on.
    for (const letter of formula.querySelectorAll('[mathvariant="double-struck"]')) {
      letter.textContent = String.fromCodePoint(0x1d538 + letter.textContent.charCodeAt(0) - 65);
    }
  }
});
