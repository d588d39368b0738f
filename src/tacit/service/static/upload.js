// Sends a file as the body of a request, then shows the page again, which lists it.
"use strict";
const form = document.getElementById("send");
const said = document.getElementById("sent");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = form.elements.file.files[0];
  said.textContent = `Sending ${file.name} …`;
  const headers = { "X-CSRF-Token": form.elements.csrf.value, "Content-Type": "application/octet-stream" };
  const answer = await fetch(`/api/study/uploads?name=${encodeURIComponent(file.name)}`, { method: "POST", headers, body: file });
  if (answer.ok) location.reload();
  else said.textContent = (await answer.json()).error.message;
});
