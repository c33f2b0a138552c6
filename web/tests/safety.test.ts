// Texts are never rendered as markup or code, and nothing is requested from other hosts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(ts|tsx|css|svg)$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(root, "src", name), "utf8") }));

const FORBIDDEN = [
  /innerHTML/, /outerHTML/, /insertAdjacentHTML/, /dangerouslySetInnerHTML/, /document\.write/, /\beval\s*\(/, /new Function\b/,
  /srcdoc/, /javascript:/, /createContextualFragment/, /DOMParser/,
];

describe("the sources", () => {
  it("are found", () => expect(sources.length).toBeGreaterThan(30));

  it.each(FORBIDDEN)("never use %s", (pattern) => {
    expect(sources.filter(({ text }) => pattern.test(text)).map(({ name }) => name)).toEqual([]);
  });

  it("contain no URL except SVG's namespace", () => {
    const named = sources.flatMap(({ name, text }) => [...text.matchAll(/https?:\/\/[^\s"'`)]+/g)].map(([address]) => `${name} ${address}`));
    expect(named.filter((entry) => !entry.endsWith("http://www.w3.org/2000/svg"))).toEqual([]);
  });

  it("are short files", () => {
    expect(sources.filter(({ text }) => text.split("\n").length > 350).map(({ name }) => name)).toEqual([]);
  });
});

describe("the page and its lock file", () => {
  it("have no inline script", () => {
    const page = readFileSync(join(root, "index.html"), "utf8");
    expect([...page.matchAll(/<script[^>]*>([^<]*)/g)].map(([, inside]) => inside)).toEqual([""]);
    expect(page).not.toMatch(/:\/\/|\son\w+=/);
  });

  it("name no host, and every package has a hash", () => {
    const text = readFileSync(join(root, "package-lock.json"), "utf8");
    expect(text).not.toMatch(/:\/\//);
    const packages = Object.entries((JSON.parse(text) as { packages: Record<string, { integrity?: string }> }).packages);
    expect(packages.filter(([name, entry]) => name && !entry.integrity).map(([name]) => name)).toEqual([]);
  });
});
