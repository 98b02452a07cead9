import pg from "pg";

/**
 * Looks for a text in every row of every table that is not PostgreSQL's own.
 *
 * @returns how many rows were searched, and the tables that have it, as `schema.table`
 */
export async function findInDatabase(
  connectionString: string,
  text: string,
): Promise<{ rows: number; found: string[] }> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    );
    let rows = 0;
    const found: string[] = [];
    // Binary columns show as hexadecimal digits.
    const forms = [text, Buffer.from(text).toString("hex")];
    for (const { name } of tables.rows) {
      const result = await client.query<{ rows: number; hits: number }>(
        `select count(*)::int as rows,
           (count(*) filter (where exists (
             select from unnest($1::text[]) as form where position(form in whole::text) > 0
           )))::int as hits
         from ${name} as whole`,
        [forms],
      );
      rows += result.rows[0]?.rows ?? 0;
      if ((result.rows[0]?.hits ?? 0) > 0) found.push(name);
    }
    return { rows, found };
  } finally {
    await client.end();
  }
}
