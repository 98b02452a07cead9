import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

const usualPlaces = [
  "/snap/bin/chromium",
  "/opt/google/chrome/chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** Path of a Chromium or Chrome on this machine: `CHROMIUM_PATH` if set, else what is there. */
export function findChromium(): string | undefined {
  const named = process.env["CHROMIUM_PATH"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const onPath = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return (named ? [named] : [...onPath, ...usualPlaces]).find((path) => existsSync(path));
}

/** The same for a demo, which ends without one and says what to do. */
export function needChromium(): string {
  const path = findChromium();
  if (path !== undefined) return path;
  const place = process.env["CHROMIUM_PATH"] ?? "PATH or the usual places";
  console.error(`This demo needs a Chromium or Chrome, and there is none at ${place}.
Install one (Debian, Ubuntu: apt-get install chromium) or set CHROMIUM_PATH to its program.`);
  return process.exit(1);
}
