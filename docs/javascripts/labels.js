// The theme's search is a dialog without a name; screen readers say one.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
