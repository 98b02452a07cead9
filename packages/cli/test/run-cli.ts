import { runProgram } from "../src/program.ts";

/** Runs a command line in this process, where nobody can be asked, and keeps what it writes. */
export async function runCli(...argv: string[]) {
  let stdout = "";
  let stderr = "";
  const output = {
    writeOut: (text: string) => (stdout += text),
    writeErr: (text: string) => (stderr += text),
  };
  const exitCode = await runProgram(argv, { version: "1.2.3", output });
  return { exitCode, stdout, stderr };
}

/** Runs a command line with `--json`, and reads what it prints. */
export async function runCliJson(...argv: string[]) {
  const seen = await runCli(...argv, "--json");
  return { ...seen, json: JSON.parse(seen.stdout) };
}
