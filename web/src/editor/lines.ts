// Which line of a template belongs to which resource. Pure: test/lines.test.ts.

/** Return the line on which a resource begins; 1 if it is not found. */
export function lineOf(text: string, resource: string): number {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^resources:/.test(line));
  const at = lines.findIndex((line, i) => i > start && (line.trimEnd() === `  ${resource}:` || line.startsWith(`  ${JSON.stringify(resource)}:`)));
  return start >= 0 && at >= 0 ? at + 1 : 1;
}

/** Return the resource to which a line belongs, or "". */
export function resourceAt(text: string, line: number): string {
  const lines = text.split("\n").slice(0, line);
  for (let i = lines.length - 1; i >= 0; i -= 1) {
    const found = /^ {2}("?)([^\s"#][^"]*?)\1:\s*$/.exec(lines[i] ?? "");
    const section = /^(\w+):/.exec(lines[i] ?? "");
    if (section) return "";
    if (found?.[2]) {
      for (let j = i - 1; j >= 0; j -= 1) {
        const above = /^(\w+):/.exec(lines[j] ?? "");
        if (above) return above[1] === "resources" ? found[2] : "";
      }
    }
  }
  return "";
}
