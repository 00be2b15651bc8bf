import type {FoldStep, FoldWait} from './state.ts'
import {short} from './time.ts'
import type {RunEvent} from './types.ts'

// waitOf returns the wait that an event opens in a step.
export function waitOf(e: RunEvent, st: FoldStep | null): FoldWait {
  const d = e.data
  const below = d.below as {person?: boolean} | undefined
  let options = (d.options ?? []) as string[]
  if (d.kind === 'approval' && options.length === 0) options = ['approve', 'reject']
  const judged = below ? d.input : d.call || d.limit || !st ? undefined : st.input
  const w: FoldWait = {
    id: String(d.wait),
    node: e.node ?? '',
    kind: String(d.kind),
    prompt: (d.prompt ?? '') as string,
    options,
    since: short(e.time),
    step: st,
    call: String(d.call ?? ''),
    done: false,
    below: !!below,
    person: below?.person === true,
  }
  if (d.deadline) w.deadline = short(String(d.deadline))
  if (judged !== undefined) w.input = judged
  for (const k of ['tool', 'arguments', 'changed', 'schema', 'signal', 'filter', 'roles'] as const)
    if (d[k]) Object.assign(w, {[k]: d[k]})
  return w
}
