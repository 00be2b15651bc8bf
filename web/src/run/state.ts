import type {Answer, Definition, DefNode, Failure, Items, Waiting} from './types.ts'

// Tally sums the usage; cost is in units of 10⁻¹² dollars, so that sums are exact.
export type Tally = {input: number; output: number; cost: number; unknown: number; models: number; tools: number}

export const noTally = (): Tally => ({input: 0, output: 0, cost: 0, unknown: 0, models: 0, tools: 0})

export const money = (usd: number): number => Math.round(usd * 1e12)

// Scope is a scope of the engine: the run itself, a branch of a fork, an item of a map, or a
// sub-flow.
export type Scope = {
  n: number
  flow: Definition
  prefix: string
  owner: FoldStep | null
  last: FoldStep | null
  failed: boolean
  failure: Failure | null
  place: number
}

export type Item = {output: unknown; failure: Failure | null; ended: boolean}

// FoldStep is one execution of a node while it is folded.
export type FoldStep = {
  n: number
  // version counts the events that changed it; -1 means that its number may belong to another step,
  // too.
  version: number
  node: string
  def: DefNode
  kind: string
  scope: Scope
  iteration: number
  agent: string
  startedAt: string
  endedAt: string
  status: 'running' | 'completed' | 'failed' | 'cancelled' | 'skipped'
  attempt: number
  input: unknown
  output: unknown
  failure: Failure | null
  hasDefault: boolean
  reason: string
  waiting: number
  decision: string
  note: string
  model: string
  stop: string
  tally: Tally
  warnings: string[]
  asked: string
  modelError: string
  branches: Map<number, Scope>
  items: {done: Item[]; ended: number; failed: number} | null
  subs: Set<number>
}

export type Call = {step: FoldStep; frame: number; model: boolean}
export type FoldWait = Waiting & {step: FoldStep | null; call: string; done: boolean; below: boolean; person: boolean}
export type Below = {step: FoldStep; used: Tally; ended: boolean}

export type FoldAnswer = Answer
export type {Items}

// countsOf returns the progress of a map.
export function countsOf(st: FoldStep, goesOn: boolean): Items | undefined {
  if (!st.items) return undefined
  const {done, ended, failed} = st.items
  return {total: done.length, done: ended - failed, failed, running: goesOn ? st.branches.size : 0}
}

// itemOf returns the map and the item that a scope belongs to.
export function itemOf(sc: Scope): {map: number; item: number} | null {
  for (let s: Scope | null = sc; s?.owner; s = s.owner.scope) {
    if (s.place > 0) return {map: s.owner.n, item: s.place - 1}
  }
  return null
}

export function warn(st: FoldStep, text: unknown): void {
  if (typeof text === 'string' && text !== '' && st.warnings.length < 20) st.warnings.push(text)
}
