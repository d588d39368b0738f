// Shows how far a job has come; the page is loaded again when it has ended.
"use strict";
const shown = document.getElementById("job");
const ended = ["done", "failed", "cancelled", "declined"];
if (!ended.includes(shown.dataset.state)) {
  const events = new EventSource(`/api/jobs/${shown.dataset.id}/events`);
  events.addEventListener("job", (event) => {
    const job = JSON.parse(event.data);
    shown.textContent = [job.state, job.phase.step].filter(Boolean).join(": ");
    if (ended.includes(job.state)) {
      events.close();
      location.reload();
    }
  });
}
