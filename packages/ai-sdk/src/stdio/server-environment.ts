/** What a server inherits of this process's environment, as in the protocol's own SDKs. */
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
 * The part of this process's environment that is safe to hand on: where programs and homes are, and
 * none of the keys and tokens that the rest may hold.
 */
export function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => {
      const value = process.env[name];
      // Old shells export functions as such values, and run what comes in that shape.
      return value === undefined || value.startsWith("()") ? [] : [[name, value] as const];
    }),
  );
}

/** The whole environment of a server: what is inherited, and over it what the definition sets. */
export function serverEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const environment = inheritedEnvironment();
  for (const [name, value] of Object.entries(own)) {
    // Windows knows no case here, and would take whichever comes first.
    if (process.platform === "win32") delete environment[name.toUpperCase()];
    environment[name] = value;
  }
  return environment;
}
