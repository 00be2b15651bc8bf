import {asText} from '../lib/json.ts'
import type {RunView, Step} from './types.ts'

// Row pairs a step of one run with the step of the other run that is the same execution of the same
// node.
export type Row = {
  key: string
  node: string
  name: string
  left: Step | null
  right: Step | null
  differs: ('state' | 'given' | 'gave')[]
}

const keyOf = (s: Step): string => `${s.node} ${s.iteration}${s.item === undefined ? '' : ` ${s.map} ${s.item}`}`

// alignOf pairs the steps of two runs by node, iteration and item. Rows are in the order of the
// left run; steps that only the right run has follow the step that precedes them there.
export function alignOf(left: readonly Step[], right: readonly Step[]): Row[] {
  const rights = new Map(right.map(s => [keyOf(s), s]))
  const lefts = new Set(left.map(keyOf))
  const after = new Map<string, Step[]>()
  let before = ''
  for (const s of right) {
    const key = keyOf(s)
    if (lefts.has(key)) before = key
    else after.set(before, [...(after.get(before) ?? []), s])
  }
  const rows: Row[] = []
  const alone = (key: string) => {
    for (const s of after.get(key) ?? []) rows.push(rowOf(null, s))
  }
  alone('')
  for (const s of left) {
    const key = keyOf(s)
    rows.push(rowOf(s, rights.get(key) ?? null))
    alone(key)
  }
  return rows
}

function rowOf(left: Step | null, right: Step | null): Row {
  const one = (left ?? right)!
  const differs: Row['differs'] = []
  if (left && right) {
    if (left.status !== right.status) differs.push('state')
    if (asText(left.input) !== asText(right.input)) differs.push('given')
    if (asText(left.output) !== asText(right.output) || left.error?.code !== right.error?.code) differs.push('gave')
  } else differs.push('state')
  return {key: keyOf(one), node: one.node, name: one.name, left, right, differs}
}

// firstDifference returns the index of the first row that differs, or -1 if none does.
export const firstDifference = (rows: readonly Row[]): number => rows.findIndex(r => r.differs.length > 0)

export type Sum = {name: string; left: number | null; right: number | null}

const tookOf = (v: RunView): number | null =>
  v.startedAt && v.endedAt ? Date.parse(v.endedAt) - Date.parse(v.startedAt) : null

// sumsOf compares the totals of two runs.
export const sumsOf = (a: RunView, b: RunView): Sum[] => [
  {name: 'time', left: tookOf(a), right: tookOf(b)},
  {name: 'tokens', left: a.usage.inputTokens + a.usage.outputTokens, right: b.usage.inputTokens + b.usage.outputTokens},
  {name: 'money', left: a.usage.costUSD, right: b.usage.costUSD},
  {name: 'model calls', left: a.usage.modelCalls, right: b.usage.modelCalls},
  {name: 'tool calls', left: a.usage.toolCalls, right: b.usage.toolCalls},
]
