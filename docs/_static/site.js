// What the keyboard needs: parts that scroll can be reached, and the triangles of the side bar have a name.
document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll(".bd-article table, .formula > div, .highlight pre")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
  for (const summary of document.querySelectorAll("nav summary")) {
    const link = summary.closest("li")?.querySelector("a");
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", `Pages of ${link ? link.textContent.trim() : "this part"}`);
  }
});
