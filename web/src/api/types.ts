// The shapes of docs/page-api.md, and of the parts of Heat's API that the page reads.

import type { Counts, State } from "../view/states.ts";

export type Group = "failed" | "waits" | "at_work" | "drift" | "in_order";
export type Drift = "drifted" | "gone" | "unseen" | "in_sync" | "never_seen";

export interface Session {
  project: string;
  project_name: string;
  user: string;
  roles: string[];
  until: number | null;
  operator: boolean;
}

export interface SessionAnswer {
  session: Session | null;
  login: "code" | "keystone";
  version: string;
}

export interface Stack {
  id: string;
  name: string;
  project: string;
  parent: string | null;
  action: string;
  status: string;
  stack_status: string;
  reason: string;
  generation: number;
  operation_id: string | null;
  description: string;
  tags: string[];
  owner: string;
  /** The stack itself is protected from delete. */
  protected: boolean;
  disable_rollback: boolean;
  timeout_s: number | null;
  created: number | null;
  updated: number | null;
  deleted: number | null;
}

export interface Failure {
  resource: string | null;
  reason: string;
  at: number | null;
  event_id: number | null;
  line?: number | null;
  column?: number | null;
}

export interface Operation {
  id: string;
  /** Null where only the events of an operation are left. */
  generation: number | null;
  action: string;
  state: string;
  running: boolean;
  began: number | null;
  deadline: number | null;
  ended: number | null;
  remaining: number;
  cancelled: boolean;
  failure: Failure | null;
}

export interface Hook {
  resource: string;
  hook: string;
  since: number | null;
}

export interface Summary {
  now: number;
  stack: Stack;
  path: { id: string; name: string; resource: string | null }[];
  counts: Counts;
  total: number;
  tree: { counts: Counts; total: number; stacks: number } | null;
  counted: number;
  operation: Operation | null;
  rollback_generation?: number | null;
  drift: {
    drift: string;
    policy: string;
    mode: string;
    drifted: number;
    gone: number;
    unseen: number;
    in_sync: number;
    given_up: number;
    observed: number | null;
    next: number | null;
  } | null;
  /** Resources that wait, because an update has left them out. */
  left_out: { resources: string[]; total: number };
  hooks: Hook[];
  hooks_total: number;
  /** Why the stack cannot be deleted: it or one of its resources is protected. */
  protection: string | null;
  events: number;
  snapshots: number;
  may: string[];
  may_not: Record<string, { reason: string; text: string }>;
  last_event_id: number;
}

export interface Row {
  stack: Stack;
  group: Group;
  counts: Counts;
  total: number;
  stacks: number;
  counted: number;
  began: number | null;
  ended: number | null;
  drift: { drifted: number; gone: number; observed: number | null };
  hooks: number;
  why: string;
}

export interface Summaries {
  now: number;
  summaries: Row[];
  counts: Record<Group | "all", number>;
  next: string | null;
  last_event_id: number;
}

export interface Box {
  id: string;
  kind: "resource" | "stack" | "group";
  name: string;
  type: string;
  n: number;
  states: Counts;
  depth: number;
  since: number | null;
  stack_id: string | null;
  stack_name?: string | null;
  unwanted: boolean;
  drift: Drift | null;
}

export type Edge = [from: string, to: string, n: number, kind: string];

export interface Graph {
  stack_id: string;
  generation: number;
  digest: string;
  version: number;
  now: number;
  level: string;
  total: number;
  depths: number;
  boxes: Box[];
  edges: Edge[];
  left_out: { boxes: number; resources: number; failed: number };
  critical: string[];
}

export interface Member {
  id: string;
  name: string;
  type: string;
  state: State;
  since: number | null;
  reason: string;
  action: string;
  status: string;
  physical_id: string | null;
  stack_id: string | null;
  stack_name?: string | null;
  unwanted: boolean;
  drift: Drift | null;
  /** `path`: the resources that lead to the stack, outermost first. */
  stack: { id: string; name: string; path: string[] };
}

export interface Members {
  now: number;
  members: Member[];
  next: string | null;
}

export interface ChainStep {
  id: string;
  name: string;
  type: string;
  state: State;
  since: number | null;
  reason: string;
  pending: number;
  /** The hook that the user has to clear. */
  hook: string | null;
  stack: { id: string; name: string };
}

export interface Neighbour {
  name: string;
  type: string;
  state: State;
}

export interface Why {
  now: number;
  sentence: string;
  resource: {
    id: string;
    name: string;
    type: string;
    state: State;
    since: number | null;
    reason: string;
    pending: number;
    action: string;
    status: string;
    physical_id: string | null;
    generation: number;
    stack_id: string | null;
    stack_name?: string | null;
    line: number | null;
    column: number | null;
  };
  chain: ChainStep[];
  left_out: number;
  waits_for: Neighbour[];
  waits_for_total: number;
  holds_up: Neighbour[];
  holds_up_total: number;
  attempts: { action: string; status: string; reason: string; began: number | null; ended: number | null; operation_id: string | null }[];
  hooks: { hook: string; since: number | null }[];
  wake_up: number | null;
  versions: {
    id: string;
    physical_id: string | null;
    action: string;
    status: string;
    superseded: boolean;
    replaces: string | null;
    replaced_by: string | null;
    created: number | null;
    updated: number | null;
  }[];
  worker: { name: string; fence: number; lease_until: number | null } | null;
}

export type Span = [
  name: string,
  type: string,
  action: string,
  ready: number | null,
  began: number,
  waits: number | null,
  ended: number | null,
  outcome: "IN_PROGRESS" | "WAITING" | "COMPLETE" | "FAILED",
];

export interface Timeline {
  now: number;
  operation: Operation;
  partial: boolean;
  spans: Span[];
  critical: string[];
  groups: { name: string; type: string; n: number; began: number; ended: number | null; outcomes: Record<string, number> }[];
  left_out: number;
}

export interface Change {
  resource_name: string;
  resource_type: string;
  action: "create" | "update" | "replace" | "delete" | "retain" | "move" | "nothing";
  moved_from: string | null;
  cause: string;
  certain: boolean;
  /** Why this would fail: the object is protected from it. */
  refused: string;
  changes: Record<string, { from?: unknown; to?: unknown }>;
  stack: string[];
  line: number | null;
  column: number | null;
  drift: Drift | null;
}

export interface DriftedProperty {
  property: string;
  wanted?: unknown;
  applied?: unknown;
  live?: unknown;
  drifted_since?: string | number | null;
  change_pending?: boolean;
}

export interface Plan {
  generation: number;
  operation_in_progress: boolean;
  counts: Record<string, number>;
  resources: Change[];
  left_out: number;
  /** Resources that a limited request leaves out. */
  waits: string[];
  drift: { resource_name: string; drift: Drift; touched: boolean; properties: DriftedProperty[] }[];
}

/** One input of a stack, and the generations that had it. */
export interface Input {
  generation: number;
  last_generation: number;
  action: string;
  status: "IN_PROGRESS" | "COMPLETE" | "FAILED" | "SUPERSEDED";
  requested_by: string;
  began: number | null;
  ended: number | null;
  operation_id: string;
  changed: string[] | null;
}

export type Fields = Record<string, { from: unknown; to: unknown }>;

export interface Difference {
  from: number;
  to: number;
  /** Texts are in the unified form. */
  template: string;
  parameters: Fields;
  environment: Fields;
  files: Record<string, string>;
}

export interface ProtectionOf {
  resource_name: string;
  protect: string[];
  user: { protect: string[]; name: string } | null;
  template: string[];
}

export interface Protection {
  protected: boolean;
  by: string | null;
  resources: ProtectionOf[];
}

export interface Problem {
  severity: "error" | "warning";
  message: string;
  kind: string;
  path: string;
  file: string;
  line: number | null;
  column: number | null;
  hint: string;
}

export interface Parameter {
  name: string;
  type: string;
  label: string;
  description: string;
  required: boolean;
  hidden: boolean;
  immutable: boolean;
  default: unknown;
  constraints: Record<string, unknown>[];
}

export interface Problems {
  problems: Problem[];
  description: string;
  parameters: Parameter[];
  parameter_groups: { label: string; description: string; parameters: string[] }[];
  resources: number;
}

export interface Delta {
  now: number;
  generation: number;
  counts: Counts;
  total: number;
  boxes: [id: string, states: Counts][];
  nodes: [id: string, name: string, state: State, since: number | null][];
  events: number;
  operation?: Operation;
}

export interface Ready {
  version: number;
  last_event_id: number;
  now: number;
  generation: number;
  digest: string;
}

export interface Event {
  id: number | string;
  event_time: string;
  resource_name: string;
  logical_resource_id: string;
  physical_resource_id: string | null;
  resource_status: string;
  resource_status_reason: string | null;
  resource_type?: string;
  links?: { href: string; rel: string }[];
}

export interface Load {
  now: number;
  nodes: Counts;
  queue: number;
  oldest_s: number | null;
  stacks: Record<string, number>;
  locked: number;
  services: {
    id: string;
    kind: "ENGINE" | "API" | "OBSERVER";
    name: string;
    host: string;
    pid: number;
    started: number | null;
    seen: number | null;
    load: number;
    leases: number;
    version: string;
    up: boolean;
  }[];
  leases: { resource: string; stack: { id: string; name: string }; worker: string; fence: number; until: number | null }[];
  at_work: { id: string; name: string; project: string; stack_status: string; updated: number | null }[];
}
