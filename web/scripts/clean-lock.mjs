// Removes download and funding addresses from the lock file.
import { readFileSync, writeFileSync } from "node:fs";

const path = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8"));
for (const entry of Object.values(lock.packages)) {
  delete entry.funding;
  delete entry.resolved;
  if (entry.deprecated?.includes("://")) delete entry.deprecated;
}
writeFileSync(path, JSON.stringify(lock, null, 2) + "\n");
