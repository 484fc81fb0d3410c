// What is written on the pages Create and Update, kept in memory while the page lives, and the requests made of it.

import type { Parameter } from "../api/types.ts";

export interface Draft {
  name: string;
  template: string;
  environment: string;
  files: Record<string, string>;
  /** Values as they were typed; only those that differ from what is known are sent. */
  values: Record<string, string>;
  rollback: boolean;
  timeout: string;
  tags: string;
  /** Whether the update looks at every resource first, and repairs what has drifted. */
  repair: boolean;
  /** Resources to which the request is limited, with what they need; none: all. */
  target: string[];
  /** Resources that the request leaves as they are, with what needs them. */
  exclude: string[];
}

export function newDraft(template = ""): Draft {
  return { name: "", template, environment: "", files: {}, values: {}, rollback: false, timeout: "", tags: "", repair: false, target: [], exclude: [] };
}

/** Turn a typed value into what the API takes: lists and objects are written as JSON. */
export function typed(parameter: Parameter, text: string): unknown {
  if (parameter.type === "json" || parameter.type === "comma_delimited_list") {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text;
}

/** Write a value of the API into a field. */
export function written(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((one) => typeof one === "string" && !one.includes(","))) return value.join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

type Constraint = Record<string, unknown>;

/** Say why a typed value does not fit, or "". The service checks again; this is for the form. */
export function misfit(parameter: Parameter, text: string, known: boolean): string {
  if (text === "") return parameter.required && !known ? "A value is needed." : "";
  if (parameter.type === "number" && !Number.isFinite(Number(text))) return "This is not a number.";
  if (parameter.type === "boolean" && !/^(true|false|t|f|yes|no|y|n|on|off|0|1)$/i.test(text)) return "This is neither true nor false.";
  if (parameter.type === "json") {
    try {
      JSON.parse(text);
    } catch {
      return "This is not JSON.";
    }
  }
  for (const constraint of parameter.constraints) {
    const wrong = broken(constraint, parameter.type, text);
    if (wrong) return typeof constraint["description"] === "string" && constraint["description"] ? String(constraint["description"]) : wrong;
  }
  return "";
}

function broken(constraint: Constraint, type: string, text: string): string {
  const allowed = constraint["allowed_values"];
  if (Array.isArray(allowed) && !allowed.map(String).includes(text) && type !== "comma_delimited_list") return `One of: ${allowed.map(String).join(", ")}.`;
  const pattern = constraint["allowed_pattern"];
  if (typeof pattern === "string" && !fits(pattern, text)) return `It must fit the pattern ${pattern}.`;
  const length = constraint["length"] as { min?: number; max?: number } | undefined;
  if (length && type === "string") return outside([...text].length, length, "characters");
  const range = constraint["range"] as { min?: number; max?: number } | undefined;
  return range && type === "number" ? outside(Number(text), range, "") : "";
}

function outside(n: number, { min, max }: { min?: number; max?: number }, unit: string): string {
  const words = unit ? ` ${unit}` : "";
  if (min !== undefined && min !== null && n < min) return `At least ${min}${words}.`;
  if (max !== undefined && max !== null && n > max) return `At most ${max}${words}.`;
  return "";
}

/** Patterns are those of Python; what JavaScript cannot read is left to the service. */
function fits(pattern: string, text: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})`, "u").test(text);
  } catch {
    return true;
  }
}

/** The body of a request that creates or changes a stack. */
export function body(draft: Draft, parameters: readonly Parameter[], options: { patch: boolean; current: Record<string, unknown> }): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const parameter of parameters) {
    const text = draft.values[parameter.name];
    if (text === undefined || (text === "" && (options.patch || !parameter.required))) continue;
    if (options.patch && text === written(options.current[parameter.name])) continue;
    given[parameter.name] = typed(parameter, text);
  }
  const minutes = Number(draft.timeout);
  return {
    template: draft.template,
    files: draft.files,
    ...(draft.environment.trim() ? { environment: draft.environment } : {}),
    parameters: given,
    disable_rollback: !draft.rollback,
    ...(draft.timeout && minutes > 0 ? { timeout_mins: Math.round(minutes) } : {}),
    ...(draft.repair ? { converge: true } : {}),
    ...(draft.target.length ? { target: draft.target } : {}),
    ...(draft.exclude.length ? { exclude: draft.exclude } : {}),
    ...(draft.tags.trim() ? { tags: draft.tags.trim() } : {}),
  };
}
