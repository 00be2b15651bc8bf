import type {LiveRun} from '../live/run_source.ts'
import {Fold} from './project.ts'
import type {Definition} from './types.ts'
import type {SeenSteps} from './view.ts'

// Past shows a run as it was after any of its events, by the same fold as live (P36). It folds on from where it is, and from the beginning when it moves back; steps that had ended are drawn once.
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

  // of gives the run after the event at. An event beyond the last one, or none, is the live view itself.
  of(live: LiveRun, at: number): LiveRun {
    const last = live.events.at(-1)?.seq ?? 0
    if (at <= 0 || at >= last) return live
    const after = live.events.findIndex(e => e.seq > at)
    if (this.folded > after) {
      this.fold = new Fold(this.id, this.definition, this.seen)
      this.folded = 0
    }
    while (this.folded < after) this.fold.add(live.events[this.folded++]!)
    return {...live, past: last, events: live.events.slice(0, after), saying: new Map(), view: this.fold.view()}
  }
}
