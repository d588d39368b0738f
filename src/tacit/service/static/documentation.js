// The API's description, to read and to try; requests carry the session's secret.
"use strict";
const place = document.getElementById("swagger");
SwaggerUIBundle({
  domNode: place,
  url: "/api/openapi.json",
  validatorUrl: null,
  requestInterceptor: (request) => {
    request.headers["X-CSRF-Token"] = place.dataset.csrf;
    return request;
  },
});
