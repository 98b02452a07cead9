#!/usr/bin/env bash
# @libsql/client 0.18.0, a database in a file: after one `batch` that met another writer's lock, every later `batch` of
# that client fails, also when the lock is gone. One would expect the next batch to work, as `execute` of the same client
# does. Seen: "SQLITE_BUSY", then "cannot commit transaction - SQL statements in progress" again and again.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund @libsql/client@0.18.0 >/dev/null
cat >run.mjs <<'JS'
import { createClient } from "@libsql/client";
const url = "file:one.db";
const [client, other] = [createClient({ url }), createClient({ url })];
await client.execute("CREATE TABLE t (v INTEGER)");
const lock = await other.transaction("write");
await lock.execute("INSERT INTO t VALUES (0)");
const attempt = (work) => work().then(() => "ok", (error) => error.message.replace(/^.*?: /, ""));
const batch = () => client.batch(["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"], "write");
console.log("while another writer has the lock:", await attempt(batch));
await lock.commit();
lock.close();
console.log("execute, without the lock:", await attempt(() => client.execute("SELECT count(*) FROM t")));
for (const turn of [1, 2, 3]) console.log(`batch ${turn}, without the lock:`, await attempt(batch));
console.log("batch of a new client:", await attempt(() => createClient({ url }).batch(["INSERT INTO t VALUES (3)"], "write")));
JS
node run.mjs | tee seen
grep -q "^while another writer has the lock: .*database is locked" seen
grep -q "^execute, without the lock: ok" seen
[ "$(grep -c "^batch [123], without the lock: .*SQL statements in progress" seen)" = 3 ]
