/** A text as servers repeat it: as it is, and as URLs, forms, HTML and strings of JSON write it. */
export function escapedForms(text: string): string {
  const json = JSON.stringify(text).slice(1, -1);
  const url = encodeURIComponent(text);
  const html = ["&", "<", ">", '"', "'"].reduce(
    (escaped, character) => escaped.replaceAll(character, `&#${character.charCodeAt(0)};`),
    text,
  );
  return [
    ...[text, json, json.replaceAll("/", "\\/"), url, encodeURIComponent(url)],
    ...[url.replaceAll(/%../g, (escape) => escape.toLowerCase())],
    ...[new URLSearchParams({ text }).toString().slice(5), html, JSON.stringify(html).slice(1, -1)],
  ].join(" | ");
}
