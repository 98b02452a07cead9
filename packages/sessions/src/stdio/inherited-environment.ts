/** The variables that a server inherits from this process, as in the protocol's own SDKs. */
const inherited =
  process.platform === "win32"
    ? [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
      ]
    : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/**
 * The part of this process's environment that is safe for a server: the paths of programs and homes.
 * The other variables may hold keys and tokens.
 */
export function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => {
      const value = process.env[name];
      // Old shells export functions as such values, and run any value of that form.
      return value === undefined || value.startsWith("()") ? [] : [[name, value] as const];
    }),
  );
}

/** The whole environment of a server. A variable of the definition replaces an inherited one. */
export function serverEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const environment = inheritedEnvironment();
  for (const [name, value] of Object.entries(own)) {
    // Windows ignores the case of names, and would take the variable that comes first.
    if (process.platform === "win32") delete environment[name.toUpperCase()];
    environment[name] = value;
  }
  return environment;
}
