import type {LiveRun} from '../live/run_source.ts'
import {project} from './project.ts'
import type {Definition} from './types.ts'

// pastOf gives a run as it was after an event, by the same fold as live (P36). An event beyond the last one, or none, is the live view itself.
export function pastOf(live: LiveRun, definition: Definition | null, at: number): LiveRun {
  const last = live.events.at(-1)?.seq ?? 0
  if (at <= 0 || at >= last) return live
  const end = live.events.findIndex(e => e.seq > at)
  const events = live.events.slice(0, end < 0 ? undefined : end)
  return {...live, past: true, events, saying: new Map(), view: project(live.view.id, definition, events)}
}
