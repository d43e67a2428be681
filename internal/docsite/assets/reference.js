// Starts Scalar over the descriptions that the page names. Nothing is fetched from
// another host: no fonts, no proxy, no telemetry.
(() => {
  const at = document.getElementById("reference");
  Scalar.createApiReference(at, {
    sources: JSON.parse(at.dataset.sources),
    theme: "default",
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    agent: { disabled: true },
    mcp: { disabled: true },
    documentDownloadType: "direct",
    persistAuth: false,
  });
})();
