// Loaded before a program. By itself Node keeps what it compiled only when the process ends in an orderly way.
import { flushCompileCache } from "node:module";

const loadedByThenMs = 1_000;

setTimeout(() => flushCompileCache(), loadedByThenMs).unref();
