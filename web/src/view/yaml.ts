// Writes a template as YAML that reads well. The API gives templates as objects. Pure: test/yaml.test.ts.

const ORDER = ["heat_template_version", "description", "parameter_groups", "parameters", "conditions", "resources", "outputs"];
const PLAIN = /^[A-Za-z_/.][A-Za-z0-9_/.:\- ]*$/;
// Words and numbers that YAML reads as something other than text.
const TAKEN = /^(?:~|null|true|false|yes|no|on|off|y|n|[-+]?[.0-9][0-9_.:eE+-]*|0x[0-9a-f]+|\.(?:inf|nan))$/i;
const DATE = /^\d{4}-\d\d?-\d\d?/;

export function toYaml(template: unknown): string {
  if (typeof template === "string") return template;
  if (template === null || typeof template !== "object" || Array.isArray(template)) return `${scalar(template)}\n`;
  const entries = Object.entries(template as Record<string, unknown>);
  const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  entries.sort(([a], [b]) => rank(a) - rank(b));
  return entries.map(([name, value]) => `${entry(name, value, 0, name === "resources" || name === "parameters")}\n`).join("\n");
}

function entry(name: string, value: unknown, depth: number, spaced = false): string {
  const pad = "  ".repeat(depth);
  return `${pad}${key(name)}:${after(value, depth, spaced)}`;
}

/** Write what follows the colon of a name. */
function after(value: unknown, depth: number, spaced = false): string {
  if (Array.isArray(value)) return value.length ? (flat(value) ? ` ${inline(value)}` : `\n${list(value, depth + 1)}`) : " []";
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    if (!entries.length) return " {}";
    if (entries.length === 1 && !spaced && flat(value) && inline(value).length < 90) return ` ${inline(value)}`;
    return `\n${entries.map(([name, one]) => entry(name, one, depth + 1)).join(spaced ? "\n\n" : "\n")}`;
  }
  if (typeof value === "string" && value.includes("\n") && block(value)) {
    const pad = "  ".repeat(depth + 1);
    return ` |${value.endsWith("\n") ? "" : "-"}\n${value.replace(/\n$/, "").split("\n").map((line) => (line ? pad + line : "")).join("\n")}`;
  }
  return ` ${scalar(value)}`;
}

function list(values: unknown[], depth: number): string {
  const pad = "  ".repeat(depth);
  return values.map((value) => {
    if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length && !flat(value)) {
      return `${pad}- ${Object.entries(value).map(([name, one]) => entry(name, one, depth + 1)).join("\n").trimStart()}`;
    }
    return `${pad}- ${Array.isArray(value) || (value !== null && typeof value === "object") ? inline(value) : scalar(value)}`;
  }).join("\n");
}

/** A value that fits into one line: a function call, a short list. */
function flat(value: unknown): boolean {
  if (value === null || typeof value !== "object") return typeof value !== "string" || !value.includes("\n");
  const parts = Array.isArray(value) ? value : Object.values(value);
  if (!Array.isArray(value) && Object.keys(value).length > 1) return false;
  return parts.every((one) => flat(one) || (Array.isArray(one) && one.every(flat))) && JSON.stringify(value).length < 80;
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    return entries.length ? `{ ${entries.map(([name, one]) => `${key(name)}: ${inline(one)}`).join(", ")} }` : "{}";
  }
  return typeof value === "string" && /[:,]/.test(value) && !/^[A-Za-z]+(::[A-Za-z0-9]+)+$/.test(value) ? JSON.stringify(value) : scalar(value);
}

function key(name: string): string {
  return PLAIN.test(name) && !TAKEN.test(name) && !name.includes(": ") && !/[ :]$/.test(name) ? name : JSON.stringify(name);
}

/** Text that a block can hold as it is. */
function block(text: string): boolean {
  return !/^[ \n]|[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]|\n\n$/.test(text);
}

function scalar(value: unknown): string {
  if (typeof value !== "string") return value === undefined ? "null" : JSON.stringify(value);
  const plain = PLAIN.test(value) && !TAKEN.test(value) && !value.includes(": ") && !/[ :]$/.test(value);
  if (DATE.test(value)) return /^\d{4}-\d\d-\d\d$/.test(value) ? value : JSON.stringify(value);
  return plain ? value : JSON.stringify(value);
}
