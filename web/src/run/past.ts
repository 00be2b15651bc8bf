import type {LiveRun} from '../live/run_source.ts'
import {Fold} from './project.ts'
import type {Definition} from './types.ts'
import type {SeenSteps} from './view.ts'

// Past shows a run as it was after any of its events, with the same fold as the live view (P36). It
// continues folding from its position, and starts from the beginning when it moves back; steps that
// had ended are rendered once.
export class Past {
  private readonly seen: SeenSteps = new Map()
  private fold: Fold
  private folded = 0

  constructor(
    private readonly id: string,
    private readonly definition: Definition | null,
  ) {
    this.fold = new Fold(id, definition, this.seen)
  }

  // of returns the run after the event at. If at is beyond the last event, or 0, it returns the
  // live view itself.
  of(live: LiveRun, at: number): LiveRun {
    const last = live.events.at(-1)?.seq ?? 0
    if (at <= 0 || at >= last) return live
    const after = live.events.findIndex(e => e.seq > at)
    if (this.folded > after) {
      this.fold = new Fold(this.id, this.definition, this.seen)
      this.folded = 0
    }
    while (this.folded < after) this.fold.add(live.events[this.folded++]!)
    return {...live, past: last, events: live.events.slice(0, after), streamed: new Map(), view: this.fold.view()}
  }
}
