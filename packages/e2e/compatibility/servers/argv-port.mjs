/** The port in `--port`. */
export const port = Number(process.argv[process.argv.indexOf("--port") + 1]);
