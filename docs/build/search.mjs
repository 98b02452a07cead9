/** What a reader looks for last: what was measured, why something is so, what the docstrings say. */
const behind = /^(?:api|reports|decisions)\//;

/**
 * What the search knows of a page. Of reports and decisions this is the text alone, without code and tables. Of the API it is
 * one section for each name, without code. So the index has half the size, and a reader waits half as long.
 */
export function renderForSearch(source, env, markdown) {
  const html = markdown.render(source, env);
  if (!behind.test(env.relativePath)) return html;
  const without = html.replaceAll(/<div class="language-[^]*?<\/div>/g, "");
  return env.relativePath.startsWith("api/")
    ? without.replaceAll(/<h([4-6])[^]*?<\/h\1>/g, "")
    : without.replaceAll(/<table[^]*?<\/table>/g, "");
}

/** Options of MiniSearch. The page has them as text: these functions use nothing from around them. */
export const miniSearch = {
  options: {
    /** "retry" finds "retries", and "server" "servers". */
    processTerm: (term) =>
      term
        .toLowerCase()
        .replace(/ies$/, "y")
        .replace(/([^s])s$/, "$1"),
  },
  searchOptions: {
    /** A page comes before its sections, a guide before the API, and the API before reports and decisions. */
    boostDocument: (id, _term, { titles }) =>
      (titles.length === 0 ? 2 : 1) *
      (/\/(?:reports|decisions)\//.test(id) ? 0.1 : /\/api\//.test(id) ? 0.3 : 1),
  },
};
