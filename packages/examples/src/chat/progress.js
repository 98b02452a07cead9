// How far a call is.
/** Shows how far a call is, from its preliminary result. The message is the server's: only a text. */
export function showProgress(bar, output) {
  const { _meta: meta } = output ?? {};
  const report = meta?.["durable-mcp/progress"];
  bar.hidden = report === undefined;
  if (report === undefined) return;
  if (report.total === undefined) bar.removeAttribute("value");
  else Object.assign(bar, { max: report.total, value: report.progress });
  bar.title = report.message ?? "";
}
